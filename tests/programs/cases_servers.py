# SPDX-License-Identifier: Apache-2.0
"""Servers of the network, under load."""
from matrix import Case

WAIT = r"""
        answers() { until curl -so /dev/null http://127.0.0.1:$1/; do sleep 0.05; done; }
        mkdir www; seq 20000 > www/page
"""

CASES = (
    Case("nginx", "nginx:nginx-light curl", {"nginx": 5, "curl": 8}, quick=True, script=WAIT + r"""
        cat > conf <<END
daemon off; worker_processes 2; pid $PWD/pid; error_log $PWD/error.log; $([ $(id -u) != 0 ] || echo 'user root;')
events { worker_connections 64; }
http { access_log off; gzip on; gzip_types *; client_body_temp_path $PWD/a; proxy_temp_path $PWD/b;
    fastcgi_temp_path $PWD/c; uwsgi_temp_path $PWD/d; scgi_temp_path $PWD/e;
    server { listen 127.0.0.1:$PORT; root $PWD/www; location /old { return 301 /new; } } }
END
        nginx -e $PWD/error.log -c $PWD/conf & server=$!; answers $PORT; url=http://127.0.0.1:$PORT
        for round in 1 2; do
            curl -s $url/page | md5sum; curl -s --compressed $url/page | md5sum; curl -s $url/old | md5sum
            curl -so /dev/null -w '%{http_code}\n' "$url/none"
            curl -so /dev/null -w '%{http_code}\n' "$url/page?[1-50]" --compressed | sort | uniq -c
            [ $round = 2 ] || kill -HUP $server; sleep 0.3
        done
        kill -QUIT $server; wait $server; echo $?; grep -i cprof error.log | grep -v "$PWD"; true"""),
    Case("apache2", "apache2 ab:apache2-utils curl", {"apache2": 4, "ab": 1}, script=WAIT + r"""
        cat > conf <<END
ServerRoot $PWD
ServerName localhost
Listen 127.0.0.1:$PORT
PidFile $PWD/pid
ErrorLog $PWD/error.log
DefaultRuntimeDir $PWD
DocumentRoot $PWD/www
$([ $(id -u) != 0 ] || printf 'User nobody\nGroup nogroup\n')
$(for m in mpm_event authz_core deflate filter mime dir status rewrite; do
    echo LoadModule ${m}_module /usr/lib/apache2/modules/mod_$m.so; done)
TypesConfig /etc/mime.types
SetOutputFilter DEFLATE
StartServers 2
RewriteEngine on
RewriteRule ^/old /new [R,L]
END
        chmod 711 .; apache2 -f $PWD/conf -X -t 2> check; apache2 -f $PWD/conf -D FOREGROUND & server=$!; answers $PORT
        ab -q -n 500 -c 8 -H 'Accept-Encoding: gzip' http://127.0.0.1:$PORT/page | grep -E 'Complete|Failed'
        curl -s http://127.0.0.1:$PORT/page | md5sum; curl -so /dev/null -w '%{http_code}\n' http://127.0.0.1:$PORT/old
        kill -USR1 $server; sleep 0.5; curl -s http://127.0.0.1:$PORT/page | md5sum
        kill -WINCH $server; wait $server; echo $?; grep -c -i -E 'cprof|seg' error.log"""),
    Case("haproxy", "haproxy curl python3", {"haproxy": 2}, script=WAIT + r"""
        cat > conf <<END
global
    master-worker
    nbthread 2
    log stderr local0 emerg
defaults
    mode http
    timeout connect 5s
    timeout client 5s
    timeout server 5s
frontend f
    bind 127.0.0.1:$PORT
    http-request return status 200 content-type text/plain string "from lua or not" if { path /here }
    http-response set-header X-Seen yes
    compression algo gzip
    compression type text/plain
    default_backend b
backend b
    balance roundrobin
    http-request set-var(txn.x) url_param(x)
    http-request return status 200 content-type text/plain lf-string "x is %[var(txn.x)] %[url_param(x),sha1,hex]"
END
        haproxy -q -f conf & server=$!; answers $PORT
        curl -s http://127.0.0.1:$PORT/here; curl -s --compressed "http://127.0.0.1:$PORT/a?x=[1-200]" | md5sum
        # More than once, since it loses a signal that comes before it first waits.
        while kill -USR1 $server 2> log; do sleep 0.1; done; wait $server"""),
    Case("samba's tools", "smbclient testparm:samba-common-bin tdbbackup:tdb-tools", {"smbclient": 1, "testparm": 1}, status=1,
         script=r"""
        printf '[global]\nworkgroup = W\nprivate dir = %s\nlock directory = %s\n[share]\npath = /tmp\n' $PWD $PWD > smb.conf
        testparm -s smb.conf 2> /dev/null | grep -v private; smbclient -s smb.conf -N -p $PORT -L 127.0.0.1 2>&1 | tail -1
        net -s smb.conf getlocalsid 2> log | wc -l; false"""),
    Case("curl", "curl python3 openssl", {"curl": 2, "openssl": 2}, killed=("openssl",), script=r"""
        openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key -out cert 2> log; seq 50000 > page
        openssl s_server -quiet -accept 127.0.0.1:$PORT -key key -cert cert -WWW > log 2>&1 & server=$!
        until curl -sk --http1.0 https://127.0.0.1:$PORT/page -o out; do sleep 0.1; done
        md5sum < out; curl --cacert cert --http1.0 -sv --resolve localhost:$PORT:127.0.0.1 https://localhost:$PORT/page 2>&1 | md5sum | wc -l
        kill $server; wait $server; true"""),
    Case("tmux", "tmux", {"tmux": 2}, killed=("sleep",), script=r"""
        tmux -L m -f /dev/null new-session -d -x 80 -y 24 'seq 3000; echo done; exec sleep 60'
        until tmux -L m capture-pane -p | grep -q done; do sleep 0.05; done
        tmux -L m capture-pane -p -S - | md5sum; for i in 1 2 3; do tmux -L m split-window 'exec sleep 60'; done
        tmux -L m list-panes | wc -l; tmux -L m kill-server"""),
)
