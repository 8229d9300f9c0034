# SPDX-License-Identifier: Apache-2.0
"""Databases: the server, what fills it, what asks it, and its end."""
from matrix import Case

CASES = (
    Case("sqlite3", "sqlite3", {"sqlite3": 3}, status=1, quick=True, steady=True, script=r"""
        sqlite3 x.db "create table t(a, b);
            with recursive c(i) as (select 1 union all select i + 1 from c where i < 50000)
                insert into t select i, printf('%d', i * 7919 % 10007) from c;
            create index x on t(b); select count(distinct b), sum(a), max(b) from t where b like '%7%';
            select group_concat(a) from (select a from t order by b desc limit 50);"
        sqlite3 x.db .dump | md5sum; sqlite3 x.db "select nonsense" 2>&1 || exit 1"""),
    Case("redis", "redis-server redis-benchmark:redis-tools", {"redis-server": 2, "redis-benchmark": 1, "redis-cli": 10},
         quick=True, script=r"""
        redis-server --port $PORT --bind 127.0.0.1 --save '' --dir . > log &
        server=$!; cli() { redis-cli -p $PORT "$@"; }
        until cli ping > /dev/null 2>&1; do sleep 0.05; done
        redis-benchmark -p $PORT -n 5000 -q -t set,get,lpush,hset,zadd,mset > bench; echo $?
        cli dbsize; cli llen mylist; cli hlen myhash; cli bgsave; cli config set maxmemory 100mb; cli eval 'return(7)' 0
        cli set x y; cli append x z; cli get x; cli object encoding mylist
        while cli info persistence | grep -q rdb_bgsave_in_progress:1; do sleep 0.05; done
        ls dump.rdb; cli shutdown nosave; wait $server; echo $?; grep cprof log | grep -v "$PWD"; true"""),
    # initdb and the server refuse to be root.
    Case("postgresql", "pg_ctlcluster:postgresql runuser:util-linux", {"initdb": 1, "postgres": 8, "psql": 1, "pgbench": 2},
         script=r"""
        PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
        as() { if [ $(id -u) = 0 ]; then runuser -u nobody -- "$@"; else "$@"; fi; }
        as initdb -D $PWD/data -A trust -U me --no-sync > log
        as postgres -D $PWD/data -k $PWD -p $PORT -c listen_addresses= -c fsync=off 2>> log &
        server=$!; export PGHOST=$PWD PGPORT=$PORT PGUSER=me PGDATABASE=postgres
        until pg_isready -q; do sleep 0.05; done
        pgbench -q -i -s 1 2>> log; pgbench -n -c 4 -j 2 -t 50 > bench; grep -c 'actually processed: 200/200' bench
        psql -Atc "select count(*) from pgbench_accounts; select md5(string_agg(repeat('x', i % 50), ',')) from generate_series(1, 20000) i;
            create index on pgbench_accounts(abalance); explain (costs off) select 1; select 1 / 0" 2>&1
        pg_dump -s | wc -l; as pg_ctl -D $PWD/data -s -m fast stop; wait $server"""),
    Case("mariadb", "mariadbd:mariadb-server mariadb:mariadb-client", {"mariadbd": 2, "mariadb": 1}, script=r"""
        who=$(id -un); [ $who != root ] || { who=nobody; chown nobody .; }
        options="--no-defaults --user=$who --datadir=$PWD/data"
        mariadb-install-db $options --auth-root-authentication-method=normal --skip-test-db > log 2>&1; echo $?
        mariadbd $options --socket=$PWD/s --skip-networking --pid-file=$PWD/pid --innodb-buffer-pool-size=16M 2>> log &
        server=$!; ask() { mariadb --no-defaults -uroot -S s "$@"; }
        until ask -e 'select 1' > /dev/null 2>&1; do sleep 0.1; done
        ask -N 2>&1 <<'END'
create database d; use d; create table t(a int primary key, b varchar(40), key(b)) engine=innodb;
insert into t select seq, concat("v", seq * 7919 % 10007) from seq_1_to_20000;
select count(distinct b), sum(a) from t where b like "%7%"; select b, count(*) c from t group by b order by c desc, b limit 3;
delimiter //
create procedure p() begin declare i int default 0; while i < 500 do set i = i + 1; end while; select i; end//
delimiter ;
call p();
select nothing;
END
        echo $?; mariadb-admin --no-defaults -uroot -S s shutdown; wait $server"""),
    Case("memcached", "memcached python3", {"memcached": 1}, script=r"""
        memcached -p $PORT -U 0 -l 127.0.0.1 -m 16 -t 4 $([ $(id -u) != 0 ] || echo -u root) &
        server=$!
        cat > p.py <<'END'
import os, socket, threading, time
def connect():
    while True:
        try:
            return socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))
        except OSError:
            time.sleep(0.05)
def work(n):
    with connect() as sock:
        file = sock.makefile("rwb")
        for i in range(1000):
            file.write(b"set k%d.%d 0 0 %d\r\n%s\r\n" % (n, i, i, b"v" * i)); file.flush()
            assert file.readline() == b"STORED\r\n"
            file.write(b"get k%d.%d\r\n" % (n, i)); file.flush()
            file.readline(); assert len(file.readline()) == i + 2 and file.readline() == b"END\r\n"
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
with connect() as sock:
    sock.sendall(b"stats\r\n")
    time.sleep(0.2)
    print([line for line in sock.recv(65536).split(b"\r\n") if b"curr_items" in line or b"cmd_set" in line])
END
        env -u LD_PRELOAD python3 p.py; kill $server; wait $server"""),
)
