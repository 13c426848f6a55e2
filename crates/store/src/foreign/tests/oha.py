"""Writes oha.db beside this file: the table that oha --db-url makes (oha 1.11, src/db.rs), with made-up requests.

Small pages and one long url make the database use every kind of page that a table can have.
"""
import os
import sqlite3

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "oha.db")
if os.path.exists(path):
    os.remove(path)
db = sqlite3.connect(path)
db.execute("PRAGMA page_size = 512")
db.execute("CREATE TABLE other (id INTEGER)")
db.execute(
    """CREATE TABLE IF NOT EXISTS oha (
            url TEXT NOT NULL,
            start REAL NOT NULL,
            start_latency_correction REAL,
            end REAL NOT NULL,
            duration REAL NOT NULL,
            status INTEGER NOT NULL,
            len_bytes INTEGER NOT NULL,
            run INTEGER NOT NULL
        )"""
)
for i in range(200):
    url = "http://127.0.0.1:8080/" + ("x" * 2000 if i == 77 else "")
    meant = i * 0.01
    start = meant + (0.25 if i == 100 else 0.0005)
    end = start + 0.125
    status = 500 if i == 7 else 200
    db.execute("INSERT INTO oha VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (url, start, meant, end, end - meant, status, 1000 + i, 1))
db.commit()
db.execute("VACUUM")
db.close()
