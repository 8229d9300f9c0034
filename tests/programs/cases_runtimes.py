# SPDX-License-Identifier: Apache-2.0
"""Programs that run others: compilers at run time, emulators, collectors."""
from matrix import Case

CASES = (
    Case("node", "node:nodejs", {"node": 1}, status=6, quick=True, script=r"""
        node -e 'const {Worker} = require("worker_threads"), cp = require("child_process"), zlib = require("zlib");
            let s = 0; for (let i = 0; i < 2e5; i++) s += JSON.stringify({i}).length;
            for (let i = 0; i < 2; i++)
                new Worker("let a = []; for (let i = 0; i < 1e5; i++) a.push({i})", {eval: true});
            console.log(cp.execSync("echo hi").toString().trim(), s,
                zlib.gunzipSync(zlib.gzipSync("x".repeat(1e6))).length);
            process.exitCode = 6'"""),
    Case("C++ plugins that throw", "bash", {"thrower": 1}, quick=True, script=r"""
        $PROGRAMS/thrower $PROGRAMS/thrower_plugin.so $PROGRAMS/thrower_plugin.so"""),
    Case("java", "java:default-jre-headless javac:default-jdk-headless", {"java": 1, "javac": 1}, status=3, script=r"""
        cat > A.java <<'END'
import java.util.*; import java.util.stream.*; import java.util.zip.*;
public class A {
    public static void main(String[] a) throws Exception {
        Map<String, List<Integer>> m = new TreeMap<>();
        for (int i = 0; i < 200000; i++) m.computeIfAbsent("k" + i % 5003, k -> new ArrayList<>()).add(i);
        System.out.println(m.size() + " " + IntStream.range(0, 100000).parallel().mapToObj(i -> "x" + i).collect(Collectors.joining()).length());
        Thread[] t = new Thread[8];
        for (int i = 0; i < t.length; i++) (t[i] = new Thread(() -> { var d = new Deflater(); d.setInput(new byte[100000]); d.finish();
            d.deflate(new byte[1000]); d.end(); })).start();
        for (var x : t) x.join();
        System.gc(); System.exit(3);
    }
}
END
        javac A.java && java A"""),
    Case("qemu-user", "qemu-x86_64:qemu-user", {"qemu-x86_64": 1}, script=r"""
        env -u LD_PRELOAD qemu-x86_64 -E LD_PRELOAD= $PROGRAMS/steps.static keep_a:100:30 free_a:100:3
        qemu-x86_64 $PROGRAMS/steps.static keep_a:100:30"""),
    Case("sbcl", "sbcl", {"sbcl": 1}, status=2, script=r"""
        sbcl --noinform --no-userinit --no-sysinit --non-interactive --eval '(let ((h (make-hash-table :test (quote equal))))
            (dotimes (i 50000) (setf (gethash (format nil "~d" (mod i 997)) h) i)) (print (hash-table-count h)) (terpri))' \
            --eval '(sb-ext:run-program "/bin/echo" (list "hi") :output *standard-output*)' --eval '(exit :code 2)'"""),
    Case("erlang", "erl:erlang-base", {"beam.smp": 1}, killed=("inet_gethost",), status=5, script=r"""
        erl -noshell -eval 'L = [{X rem 97, integer_to_list(X)} || X <- lists:seq(1, 50000)], M = maps:from_list(L),
            S = self(), [spawn(fun() -> S ! lists:sum(lists:seq(1, N)) end) || N <- lists:seq(1, 500)],
            T = lists:sum([receive R -> R end || _ <- lists:seq(1, 500)]), io:format("~p ~p~n", [maps:size(M), T]), halt(5).'"""),
)
