//! A comparison that is called from the standard library, a thread, and a panic caught on its way.
use std::fmt;
use std::hint::black_box;

#[inline(never)]
fn here(n: u64) -> u64 {
    black_box(n) + 1
}

struct Shown(u64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", here(self.0))
    }
}

struct Dropped(u64);

impl Drop for Dropped {
    fn drop(&mut self) {
        here(self.0);
    }
}

#[inline(never)]
fn panics(n: u64) -> u64 {
    let _dropped = Dropped(n);
    if black_box(n) > 0 {
        panic!("panic {}", Shown(n));
    }
    n
}

fn main() {
    let mut values: Vec<u64> = (0..40).map(|i| (i * 7) % 40).collect();
    values.sort_by(|a, b| here(*a).cmp(&here(*b)));
    let boxed: Box<dyn Fn(u64) -> u64 + Send> = Box::new(|n| values.iter().map(|v| here(*v)).sum::<u64>() + n);
    black_box(boxed(3));
    std::thread::spawn(|| format!("{}", Shown(5))).join().unwrap();
    std::panic::set_hook(Box::new(|_| ()));
    assert!(std::panic::catch_unwind(|| panics(9)).is_err());
}
