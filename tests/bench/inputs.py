# SPDX-License-Identifier: Apache-2.0
"""Inputs for the real programs, the same ones each time: written once into a directory and kept."""
import json
import os
import random
import shutil
import subprocess

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu")


def _kept(path, write):
    if not os.path.exists(path):
        with open(path + ".new", "w", encoding="utf-8") as f:
            write(f)
        os.rename(path + ".new", path)
    return path


def json_file(directory, megabytes):
    """An array of objects with numbers, strings and small arrays in them."""
    def write(f):
        rng = random.Random(1)
        f.write("[")
        number = 0
        while f.tell() < megabytes * 1000000:
            entry = {"id": number, "name": f"{rng.choice(WORDS)}-{rng.randrange(10 ** 6)}",
                     "v": {"x": rng.randrange(1000), "y": round(rng.random(), 6), "on": rng.random() < 0.5},
                     "tags": [rng.choice(WORDS) for _ in range(rng.randrange(4))]}
            f.write((",\n" if number else "") + json.dumps(entry))
            number += 1
        f.write("]\n")
    return _kept(os.path.join(directory, f"objects-{megabytes}.json"), write)


def sql_file(directory, rows):
    def write(f):
        f.write(f"""create table t(id integer primary key, name text, value real, grp integer);
insert into t
    with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
    select i, 'name-' || (i * 7919 % {rows}), i * 0.5, i % 97 from n;
create index by_name on t(name);
select grp, count(*), sum(value), max(length(name)) from t group by grp order by 2, 1;
update t set name = name || '-' || grp where grp < 20;
select count(distinct name) from t;
select sum(length(group_concat)) from (select group_concat(name) as group_concat from t group by grp);
""")
    return _kept(os.path.join(directory, f"rows-{rows}.sql"), write)


def c_file(directory, functions):
    """Preprocessed C: no include, so that it is the same everywhere."""
    def write(f):
        rng = random.Random(2)
        f.write("struct s { int a, b; struct s *next; char text[16]; };\nextern int out(const char *, ...);\n")
        for i in range(functions):
            a, b, c = (rng.randrange(1, 1000) for _ in range(3))
            call = f"f{rng.randrange(i)}(p, x - {a})" if i else "x"
            f.write(f"""
int f{i}(struct s *p, int x) {{
    int sum = {a};
    for (struct s *q = p; q; q = q->next) {{
        switch (q->a % 5) {{
        case 0: sum += q->b * {b}; break;
        case 1: sum ^= x + {c}; break;
        case 2: q->text[x & 15] = (char)sum; break;
        default: sum -= q->a > {b} ? q->b : {c};
        }}
        if (sum > {a * b})
            out("{rng.choice(WORDS)} %d %d", sum, x);
    }}
    return x > {c} ? {call} + sum : sum;
}}
""")
    return _kept(os.path.join(directory, f"functions-{functions}.i"), write)


def python_file(directory):
    def write(f):
        f.write("""import json, sys
with open(sys.argv[1]) as f:
    text = f.read()
for _ in range(int(sys.argv[2])):
    data = json.loads(text)
    again = json.dumps(data)
    assert json.loads(again) == data
print(len(again))
""")
    return _kept(os.path.join(directory, "json_round.py"), write)


def compiler():
    """cc1's path, or None."""
    if not shutil.which("gcc"):
        return None
    asked = subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE, text=True, check=False)
    path = asked.stdout.strip()
    return path if os.path.isfile(path) else None
