-- A bank: who looks, and who pays.
\set accounts 100000 * :scale
\set r random(1, 100)
\set account random(1, :accounts)
\if :r <= 75
SELECT balance FROM accounts WHERE id = :account \gset
\sleep 10 ms
SELECT /* a hint; */ 'balance; of', balance < :balance FROM accounts WHERE id = :account;
\else
\set branch (:account - 1) / 1000 + 1
\set amount random(-5000, 5000)
BEGIN;
UPDATE accounts SET balance = balance + :amount WHERE id = :account;
INSERT INTO history (account, branch, amount, at)
  VALUES (:account, :branch, :amount, now()::timestamp);
END;
\endif
