//! unwind-framehop FOLDER SECONDS | --tables FILE: framehop with its cache over a recording (recording.h), printing what the C drivers print.
use std::{collections::HashMap, fs, hint::black_box, time::Instant};

use framehop::{x86_64::*, ExplicitModuleSectionInfo, Module, Unwinder};
use object::{Object, ObjectSection, ObjectSegment};

type Bytes = &'static [u8];

struct Recording {
    regs: Vec<u64>,
    stack_start: u64,
    stack: Vec<u8>,
    maps: Vec<(u64, u64, u64, String)>,
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).expect("a hexadecimal number")
}

fn load(folder: &str) -> Recording {
    let read = |name: &str| fs::read(format!("{folder}/{name}")).expect(name);
    let stack = read("stack");
    let maps = String::from_utf8_lossy(&read("maps")).lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (start, end) = words[0].split_once('-')?;
        Some((hex(start), hex(end), hex(words[2]), words.get(5).unwrap_or(&"").to_string()))
    }).collect();
    Recording {
        regs: String::from_utf8_lossy(&read("regs")).lines().map(hex).collect(),
        stack_start: u64::from_le_bytes(stack[..8].try_into().unwrap()),
        stack: stack[8..].to_vec(),
        maps,
    }
}

fn read_stack(r: &Recording, address: u64) -> Result<u64, ()> {
    let at = address.wrapping_sub(r.stack_start) as usize;
    let bytes = r.stack.get(at..at.wrapping_add(8)).ok_or(())?;
    Ok(u64::from_le_bytes(bytes.try_into().unwrap()))
}

/// Each file's mappings: where they begin and end at run time.
fn files(r: &Recording) -> HashMap<String, (u64, u64)> {
    let mut files: HashMap<String, (u64, u64)> = HashMap::new();
    for (start, end, _, path) in &r.maps {
        if path.starts_with('/') {
            let range = files.entry(path.clone()).or_insert((*start, *end));
            *range = (range.0.min(*start), range.1.max(*end));
        }
    }
    files
}

fn module(path: &str, range: (u64, u64)) -> Option<Module<Bytes>> {
    let file = fs::File::open(path).ok()?;
    let image: Bytes = Box::leak(Box::new(unsafe { memmap2::Mmap::map(&file) }.ok()?));
    let elf = object::File::parse(image).ok()?;
    let base = elf.segments().map(|s| s.address()).min()? & !4095;
    let section = |name: &str| {
        let s = elf.section_by_name(name)?;
        Some((s.address()..s.address() + s.size(), s.data().ok()?))
    };
    let info = ExplicitModuleSectionInfo {
        base_svma: base,
        text_svma: section(".text").map(|s| s.0),
        text: section(".text").map(|s| s.1),
        eh_frame_svma: section(".eh_frame").map(|s| s.0),
        eh_frame: section(".eh_frame").map(|s| s.1),
        eh_frame_hdr_svma: section(".eh_frame_hdr").map(|s| s.0),
        eh_frame_hdr: section(".eh_frame_hdr").map(|s| s.1),
        ..Default::default()
    };
    Some(Module::new(path.to_string(), range.0..range.1, range.0, info))
}

/// The first walk: a file is opened when an address in it is on the stack, as the other unwinders do.
fn first_walk(u: &mut UnwinderX86_64<Bytes>, cache: &mut CacheX86_64, r: &Recording,
              mut unopened: HashMap<String, (u64, u64)>, pcs: &mut Vec<u64>) {
    let mut read = |address: u64| read_stack(r, address);
    let mut regs = UnwindRegsX86_64::new(r.regs[16], r.regs[7], r.regs[6]);
    let mut address = framehop::FrameAddress::from_instruction_pointer(r.regs[16]);
    pcs.clear();
    loop {
        let at = address.address_for_lookup();
        pcs.push(address.address());
        let found = unopened.iter().find(|(_, range)| (range.0..range.1).contains(&at)).map(|(path, _)| path.clone());
        if let Some(path) = found {
            let range = unopened.remove(&path).unwrap();
            if let Some(module) = module(&path, range) {
                u.add_module(module);
            }
        }
        match u.unwind_frame(address, &mut regs, cache, &mut read) {
            Ok(Some(pc)) => match framehop::FrameAddress::from_return_address(pc) {
                Some(next) => address = next,
                None => return,
            },
            _ => return,
        }
    }
}

fn walk(u: &UnwinderX86_64<Bytes>, cache: &mut CacheX86_64, r: &Recording, pcs: &mut Vec<u64>) {
    let mut read = |address: u64| read_stack(r, address);
    pcs.clear();
    let regs = UnwindRegsX86_64::new(r.regs[16], r.regs[7], r.regs[6]);
    let mut frames = u.iter_frames(r.regs[16], regs, cache, &mut read);
    while let Ok(Some(frame)) = frames.next() {
        pcs.push(frame.address());
    }
}

fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn resident_kib() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4
}

/// In KiB, memory of our own ("RssAnon") or pages of files ("RssFile").
fn resident_of(kind: &str) -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(kind)).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or(0.0)
}

/// One step, cold, out of every 997th function of a file: what tables.c does with ours.
fn step_tables(path: &str) {
    let base = 1 << 30;
    let began = Instant::now();
    let mut unwinder = UnwinderX86_64::new();
    unwinder.add_module(module(path, (base, base << 1)).expect("an ELF file"));
    let opened = began.elapsed().as_secs_f64() * 1e3;
    let file = fs::File::open(path).expect("the file");
    let image = unsafe { memmap2::Mmap::map(&file) }.expect("the file");
    let elf = object::File::parse(&*image).expect("an ELF file");
    let hdr = elf.section_by_name(".eh_frame_hdr").expect("a table");
    let (table, mut cache, mut n, mut spent) = (hdr.data().expect("a table"), CacheX86_64::new(), 0, 0);
    for pair in table[12..].chunks_exact(8).step_by(997) {
        let start = i32::from_le_bytes(pair[..4].try_into().unwrap()) as i64;
        let pc = base + (hdr.address() as i64 + start) as u64;
        let mut regs = UnwindRegsX86_64::new(pc, 0x7100, 0x7200);
        let step = Instant::now();
        let address = framehop::FrameAddress::from_instruction_pointer(pc);
        let _ = black_box(unwinder.unwind_frame(address, &mut regs, &mut cache, &mut |_| Ok(base)));
        spent += step.elapsed().as_nanos();
        n += 1;
    }
    println!("framehop, opened: {opened:.1} ms; a first step out of every 997th function: {:.1} us each, {:.1} MB its own, {:.1} MB of the file",
             spent as f64 / 1e3 / n as f64, resident_of("RssAnon") / 1e3, resident_of("RssFile") / 1e3);
}

/// As recording_use_heap() in recording.h.
fn use_heap() {
    const N: usize = 64;
    const BYTES: usize = 16384;
    unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, (16 * N * BYTES) as i32) };
    drop(black_box((0..N).map(|_| vec![1u8; BYTES]).collect::<Vec<_>>()));
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments[1] == "--tables" {
        return step_tables(&arguments[2]);
    }
    let (folder, seconds) = (&arguments[1], arguments[2].parse::<f64>().expect("seconds"));
    let r = load(folder);
    let (mut cache, mut pcs) = (CacheX86_64::new(), Vec::with_capacity(4096));
    let (mut unwinder, mappings) = (UnwinderX86_64::new(), files(&r));
    if std::env::var_os("FRESH").is_none() {
        use_heap();
    }
    let cold = cpu_ns();
    first_walk(&mut unwinder, &mut cache, &r, mappings, &mut pcs);
    let cold = cpu_ns() - cold;
    let began = Instant::now();
    let mut best = f64::MAX;
    while began.elapsed().as_secs_f64() < seconds {
        let batch = Instant::now();
        for _ in 0..50 {
            walk(black_box(&unwinder), &mut cache, &r, &mut pcs);
        }
        best = best.min(batch.elapsed().as_nanos() as f64 / 50.0);
    }
    println!("{} {cold} {best:.1} {}", pcs.len(), resident_kib());
    for pc in pcs {
        println!("{pc:x}");
    }
}
