//! What Datadog's crates for OTEP 4947 and 4719 make of libstalltag.so, a line a fact, "name: yes" or "name: NO (why)".
//!
//!     stalltag-crates-checker LIBRARY alone|beside
//!
//! and a publisher that knows nothing of stalltag, for a profiler to see:
//!
//!     stalltag-crates-checker FILE reads
//!
//! reads FILE past the page cache for a second under each of two contexts of the crate's, and prints their ids and times,
//! {"span_id", "trace_id", "ns"}.

use libdd_library_config::otel_process_ctx::{publish, ProcessContextSelfReader};
use libdd_otel_thread_ctx::{linux::OwnedThreadContext, sanity_check};
use libdd_trace_protobuf::opentelemetry::proto::common::v1::{any_value, KeyValue, ProcessContext};
use std::time::{Duration, Instant};
use std::{env, ffi::c_char, ffi::c_int, ffi::c_void, ffi::CString, mem::transmute, path::Path, ptr};

const READ_BYTES: usize = 65536;

struct Stalltag {
    push: extern "C" fn(u64, *const c_char),
    pop: extern "C" fn(),
    public_state: extern "C" fn() -> c_int,
    handle: *mut c_void,
}

impl Stalltag {
    fn load(path: &str) -> Self {
        let path = CString::new(path).unwrap();
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!handle.is_null(), "dlopen");
        let find = |name: &str| {
            let name = CString::new(name).unwrap();
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            assert!(!found.is_null(), "{name:?}");
            found
        };
        unsafe {
            Stalltag {
                push: transmute(find("stalltag_push")),
                pop: transmute(find("stalltag_pop")),
                public_state: transmute(find("stalltag_public_state")),
                handle,
            }
        }
    }

    fn push(&self, id: u64, name: &str) {
        let name = CString::new(name).unwrap();
        (self.push)(id, name.as_ptr());
    }

    /// The id in the span id of the record that our own slot leads to.
    fn current(&self) -> Option<u64> {
        let name = CString::new("stalltag_thread_ctx_v1").unwrap();
        let record = unsafe { *(libc::dlsym(self.handle, name.as_ptr()) as *const *const u8) };
        if record.is_null() {
            return None;
        }
        let mut span = [0u8; 8];
        unsafe { ptr::copy_nonoverlapping(record.add(16), span.as_mut_ptr(), 8) };
        Some(u64::from_be_bytes(span))
    }
}

fn tell(name: &str, good: bool, why: impl std::fmt::Debug) {
    if good {
        println!("{name}: yes");
    } else {
        println!("{name}: NO ({why:?})");
    }
}

fn text<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let value = attributes.iter().find(|pair| pair.key == key)?.value.as_ref()?;
    match value.value.as_ref()? {
        any_value::Value::StringValue(text) => Some(text),
        _ => None,
    }
}

fn alone(library: &str) {
    let slot = sanity_check::check_tls_slot_in(Path::new(library));
    tell("the crate's check of the slot's symbol and relocations passes", slot.is_ok(), slot.err());
    let stalltag = Stalltag::load(library);
    stalltag.push(80000, "checkpoint_write/run42");
    let context = ProcessContextSelfReader::new().and_then(|reader| reader.read());
    tell("the crate's reader decodes the process context", context.is_ok(), &context);
    let Ok(context) = context else { return };
    let keys = ProcessContextSelfReader::threadlocal_attribute_key_map(&context);
    tell("its key map is [ai_tag]", keys.as_deref() == Some(&["ai_tag".to_string()]), &keys);
    let schema = text(&context.extra_attributes, "threadlocal.schema_version");
    tell("its schema is tlsdesc_v1_dev", schema == Some("tlsdesc_v1_dev"), schema);
    let resource = context.resource.clone().unwrap_or_default();
    let service = text(&resource.attributes, "service.name");
    tell("its service is the environment's", service == Some("trainer"), service);
    (stalltag.pop)();
}

fn attach(span: u8) -> Option<OwnedThreadContext> {
    OwnedThreadContext::new([span; 16], [span; 8], 1, [0; 8], &[]).attach()
}

fn beside(library: &str) {
    publish(&ProcessContext::default()).expect("publish");
    let before = attach(7);
    tell("the crate finds its slot empty", before.is_none(), ());
    let stalltag = Stalltag::load(library);
    stalltag.push(5, "shard_read");
    tell("stalltag leaves publishing to the crate", (stalltag.public_state)() == -1, (stalltag.public_state)());
    tell("stalltag's own slot has its tag", stalltag.current() == Some(5), stalltag.current());
    let previous = attach(8);
    tell("the crate gets its own context back under a tag", previous.is_some(), ());
    drop(previous);
    (stalltag.pop)();
    tell("the crate's context outlives the tag", OwnedThreadContext::detach().is_some(), ());
    tell("and nothing else is there", OwnedThreadContext::detach().is_none(), ());
    tell("stalltag's own slot is empty", stalltag.current().is_none(), stalltag.current());
}

fn read_for_a_second(fd: c_int, buffer: *mut c_void) -> u128 {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(1) {
        assert!(unsafe { libc::pread(fd, buffer, READ_BYTES, 0) } > 0, "pread");
    }
    begin.elapsed().as_nanos()
}

fn reads(path: &str) {
    let path = CString::new(path).unwrap();
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_DIRECT) };
    let mut buffer = ptr::null_mut();
    assert!(fd >= 0 && unsafe { libc::posix_memalign(&mut buffer, 4096, READ_BYTES) } == 0, "open");
    publish(&ProcessContext::default()).expect("publish");
    std::thread::sleep(Duration::from_secs(1)); // a profiler looks for processes now and then
    for span in [7u8, 8] {
        drop(attach(span));
        let ns = read_for_a_second(fd, buffer);
        drop(OwnedThreadContext::detach());
        let hex = format!("{span:02x}");
        println!("{{\"span_id\": \"{}\", \"trace_id\": \"{}\", \"ns\": {ns}}}", hex.repeat(8), hex.repeat(16));
    }
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    match arguments[2].as_str() {
        "alone" => alone(&arguments[1]),
        "reads" => reads(&arguments[1]),
        _ => beside(&arguments[1]),
    }
}
