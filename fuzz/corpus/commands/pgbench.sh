PGUSER=me pgbench -h /run/pg -p 7 -c 4 -j 2 -R 90.5 -t 20 -M extended -D scale=2 -b simple@2 -S -L 100 bank
