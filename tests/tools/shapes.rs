// SPDX-License-Identifier: Apache-2.0
// Names of Rust, for symbolize.t.
mod store {
    pub struct Store<T> {
        pub items: Vec<T>,
    }
    impl<T: Clone> Store<T> {
        #[inline(never)]
        pub fn add(&mut self, item: T) {
            self.items.push(item.clone());
        }
    }
    pub trait Fill {
        fn fill(&mut self, n: usize);
    }
    impl Fill for Store<String> {
        #[inline(never)]
        fn fill(&mut self, n: usize) {
            for i in 0..n {
                self.add(format!("item {}", i));
            }
        }
    }
}
use store::Fill;

fn main() {
    let mut all = store::Store { items: Vec::new() };
    all.fill(100);
    let boxes: Vec<Box<usize>> = all.items.iter().map(|item| Box::new(item.len())).collect();
    println!("{}", boxes.len());
}
