# SPDX-License-Identifier: Apache-2.0
"""Compilers, and what stands around them."""
from matrix import Case

TREE = r"""
        for i in 1 2 3 4 5 6; do printf 'int f%d(int x) { return x * %d; }\n' $i $i > f$i.c; done
        printf 'int f3(int); int main(void) { return f3(7); }\n' > main.c
"""

CASES = (
    Case("gcc", "gcc", {"gcc": 3, "cc1": 3, "as": 1, "ld": 1, "lto1": 1, "math": 1}, status=1, quick=True, script=r"""
        cp $SOURCES/tests/system/hammer.c .; printf '%s\n' '#include <math.h>' '#include <stdio.h>' '#include <stdlib.h>' \
            'int main(void) { char *p = malloc(99); return printf("%g\\n", sin(p != 0)) < 0; }' > math.c
        gcc -D_GNU_SOURCE -O2 -S -I$SOURCES -o hammer.s hammer.c && md5sum < hammer.s
        gcc -O2 -flto -o math math.c -lm && ./math
        echo 'int main(void) { return x; }' > bad.c; gcc bad.c 2>&1"""),
    Case("g++", "g++", {"cc1plus": 1, "r": 1}, quick=True, script=r"""
        printf '#include <map>\n#include <regex>\n#include <iostream>\nint main() { std::map<int, int> m{{1, 2}};
            try { std::regex r("(a+"); } catch (std::regex_error &) { std::cout << "bad" << m[1]; } }' > r.cc
        g++ -O1 -std=c++17 -o r r.cc && ./r"""),
    Case("clang", "clang", {"clang": 4}, status=1, script=r"""
        cp $SOURCES/tests/system/hammer.c .; clang -D_GNU_SOURCE -O2 -I$SOURCES -pthread -o hammer hammer.c; ls hammer
        clang -D_GNU_SOURCE -O2 -S -I$SOURCES -o hammer.s hammer.c && md5sum < hammer.s
        printf '#include <map>\n#include <string>\nint main() { std::map<std::string, int> m{{"a", 2}}; return m["b"]; }' > m.cc
        clang++ -O1 -c m.cc && nm m.o | wc -l
        echo 'int main(void) { return x; }' > bad.c; clang bad.c"""),
    Case("make -j", "make gcc", {"make": 2, "cc1": 7, "ld": 1}, status=2, script=TREE + r"""
        printf 'objects := $(patsubst %%.c,%%.o,$(wildcard *.c))\nprog: $(objects)\n\t@gcc -o $@ $^\n' > Makefile
        printf '%%.o: %%.c\n\t@gcc -O2 -c -o $@ $<\nsub:\n\t@$(MAKE) --no-print-directory -C . nothing\n' >> Makefile
        make -s -j3; ./prog; echo $?; make -j3 -s sub 2>&1"""),
    Case("cmake, ninja", "cmake ninja:ninja-build gcc", {"cmake": 3, "ninja": 2, "cc1": 7}, status=1, script=TREE + r"""
        printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nfile(GLOB s *.c)\nadd_executable(prog ${s})\n' > CMakeLists.txt
        printf 'add_custom_target(no COMMAND false)\n' >> CMakeLists.txt
        cmake -G Ninja -B b . > log; grep -c works log; ninja -C b prog > log; ./b/prog; echo $?; ninja -C b no > log"""),
    Case("rustc", "/usr/bin/rustc:rustc", {"rustc": 1, "words": 1, "ld": 1}, status=101, script=r"""
        cat > words.rs <<'END'
use std::collections::BTreeMap;
use std::thread;
fn main() {
    let handles: Vec<_> = (0..4).map(|t| thread::spawn(move || {
        let mut m: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for i in 0..20000 { m.entry(format!("w{}", (i * 7919 + t) % 1009)).or_default().push(i); }
        m.values().map(|v| v.len()).sum::<usize>() + m.len()
    })).collect();
    let sums: Vec<usize> = handles.into_iter().map(|h| h.join().unwrap()).collect();
    println!("{:?}", sums);
    let v: Vec<Box<u64>> = (0..1000).map(Box::new).collect();
    println!("{}", v[1000]);
}
END
        /usr/bin/rustc -O words.rs && ./words"""),
    # cargo has more than one list of exit handlers; libc frees a list when it has run it, the last profile among them.
    Case("cargo", "/usr/bin/cargo:cargo", {"cargo": 2, "rustc": 2}, frees_late={"cargo": 4}, script=r"""
        export CARGO_HOME=$PWD/home; cargo new -q --vcs none p 2>&1; cd p
        RUSTC=/usr/bin/rustc cargo build -q --offline 2>&1; ./target/debug/p; cargo metadata --offline --format-version 1 | wc -c"""),
    # Go's runtime ends by a system call of its own: nothing is written at the end.
    Case("go, with cgo", "go:golang-go gcc", {"blocks": 1, "ld": 1}, killed=("go", "blocks"), script=r"""
        export GOCACHE=$PWD/cache GO111MODULE=off GOFLAGS=
        cat > blocks.go <<'END'
package main

// #include <stdlib.h>
// #include <string.h>
// static char *block(size_t n) { return strdup("a string of C's") ? malloc(n) : 0; }
import "C"
import ("fmt"; "sync"; "unsafe")

func main() {
	var wait sync.WaitGroup
	for g := 0; g < 8; g++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := 0; i < 2000; i++ { C.free(unsafe.Pointer(C.block(C.size_t(i)))) }
		}()
	}
	wait.Wait()
	keep := C.CString("kept"); fmt.Println(C.strlen(keep))
}
END
        go build -o blocks blocks.go && ./blocks"""),
    Case("gdb", "gdb gcc", {"gdb": 1}, varies=((r"(process|Thread|LWP) [0-9a-fx]+", r"\1 N"), (r"0x[0-9a-f]+", "0xN")), script=r"""
        printf 'struct s { int a; char *b; };\nstatic int f(int n) { return n ? f(n - 1) + 1 : 0; }
            int main(void) { struct s s = {1, "two"}; return f(20) - 20 + s.a - 1; }\n' > a.c; gcc -g -o a a.c
        gdb -nx -batch -ex 'break f if n == 3' -ex 'ptype struct s' -ex 'info line main' -ex 'python print(6 * 7)' \
            -ex 'disassemble f' -ex 'info functions main' a 2>&1 | sort | tail -40"""),
    Case("binutils, strace", "readelf:binutils objdump:binutils strace gcc", {"objdump": 1, "readelf": 1, "strace": 1}, killed=("strace",), script=r"""
        gcc -g -o steps -D_GNU_SOURCE $SOURCES/tests/system/steps.c -pthread
        objdump -dS steps | md5sum; readelf -aW steps | md5sum; nm -S steps | wc -l; strip -o s steps; ls s
        strace -f -o log true; grep -c exit_group log"""),
    Case("ocaml", "ocamlfind:ocaml-findlib ocamlopt:ocaml", {"ocamlopt*": 1, "a": 1}, status=2, script=r"""
        printf 'module M = Map.Make(String)\nlet () = let m = ref M.empty in
            for i = 0 to 30000 do m := M.add (string_of_int i) i !m done;
            Printf.printf "%%d\\n%%!" (M.cardinal !m); ignore (M.find "x" !m)\n' > a.ml
        ocamlopt -o a a.ml && ./a"""),
)
