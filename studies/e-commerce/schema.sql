-- A bookshop after TPC-W: 10^5 items, and its fourteen interactions as functions of one random number, so that all runs
-- request the same. Orders concentrate on few items, as sales do.

create table author (id int primary key, first_name text, last_name text, bio text);
create table item (
    id int primary key, title text, author int, published date, publisher text, subject int, description text,
    related int, price numeric(8, 2), cost numeric(8, 2), stock int, pages int
);
create table customer (
    id int primary key, name text unique, first_name text, last_name text, address int, since date,
    discount numeric(4, 2), spent numeric(15, 2)
);
create table address (id int primary key, street text, city text, zip text, country int);
create table orders (id serial primary key, customer int, made timestamp, total numeric(15, 2), status text);
create table order_line (orders int, line int, item int, quantity int, primary key (orders, line));
create table payment (orders int primary key, kind text, number text, amount numeric(15, 2));
create table cart (id serial primary key, touched timestamp);
create table cart_line (cart int, item int, quantity int, primary key (cart, item));

select setseed(0.5);
insert into author
    select g, 'F' || (random() * 1000)::int, chr(65 + (random() * 25)::int) || md5(g::text), repeat('b', 100)
    from generate_series(1, 25000) g;
insert into item
    select g, initcap(md5(g::text)) || ' ' || md5((g * 7)::text), 1 + (random() * 24999)::int,
           date '1990-01-01' + (random() * 10000)::int, 'P' || (random() * 100)::int, (random() * 23)::int, repeat('d', 200),
           1 + (random() * 99999)::int, (random() * 100)::numeric(8, 2), (random() * 80)::numeric(8, 2),
           (10 + random() * 20)::int, (random() * 1000)::int
    from generate_series(1, 100000) g;
insert into customer
    select g, 'u' || g, 'F' || (random() * 1000)::int, 'L' || (random() * 5000)::int, g,
           date '2026-01-01' - (random() * 700)::int, (random() * 0.5)::numeric(4, 2), 0
    from generate_series(1, 72000) g;
insert into address
    select g, 'street ' || g, 'city ' || (random() * 1000)::int, (random() * 99999)::int::text, (random() * 91)::int
    from generate_series(1, 72000) g;
insert into orders (customer, made, total, status)
    select 1 + (random() * 71999)::int, timestamp '2026-01-01' - random() * interval '60 days', 110, 'SHIPPED'
    from generate_series(1, 64800);
insert into order_line
    select o, l, 1 + floor(power(random(), 3) * 99999)::int, 1 + (random() * 9)::int
    from generate_series(1, 64800) o, generate_series(1, 3) l;
insert into payment select g, 'VISA', md5(g::text), 110 from generate_series(1, 64800) g;
insert into cart (touched) select timestamp '2026-01-01' from generate_series(1, 5000);
insert into cart_line select c, 1 + (c * 37 + l * 7919) % 100000, 2 from generate_series(1, 5000) c, generate_series(1, 3) l;
create index on item (subject);
create index on item (author);
create index on item (title text_pattern_ops);
create index on author (last_name text_pattern_ops);
create index on orders (customer);
create index on order_line (item);
vacuum analyze;

-- The fourteen interactions.

create function home(r bigint) returns bigint language plpgsql as $$
begin
    perform first_name, last_name from customer where id = 1 + r % 72000;
    return search_request(r);
end $$;

create function search_request(r bigint) returns bigint language plpgsql as $$
begin
    return (
        select count(*) from item i
        join item j on j.id in (i.related, i.related % 100000 + 1, i.related % 99999 + 1)
        where i.id = 1 + r % 100000
    );
end $$;

create function new_products(r bigint) returns bigint language plpgsql as $$
begin
    return (
        select count(*) from (
            select item.id, title, first_name, last_name from item join author on item.author = author.id
            where subject = r % 24 order by published desc, title limit 50
        ) found
    );
end $$;

-- Best sellers of a subject in the last 20,000 orders.
create function best_sellers(r bigint) returns bigint language plpgsql as $$
begin
    return (
        select count(*) from (
            select item.id, title, first_name, last_name, sum(quantity) as sold
            from item join author on item.author = author.id join order_line on order_line.item = item.id
            where orders > (select max(id) - 20000 from orders) and subject = r % 24
            group by item.id, title, first_name, last_name order by sold desc limit 50
        ) found
    );
end $$;

create function product_detail(r bigint) returns bigint language plpgsql as $$
begin
    return (select item.id from item join author on item.author = author.id where item.id = 1 + r % 100000);
end $$;

create function search_results(r bigint) returns bigint language plpgsql as $$
declare
    n bigint;
begin
    if r % 3 = 0 then
        select count(*) into n from (
            select item.id from item join author on item.author = author.id
            where last_name like chr((65 + (r / 3) % 26)::int) || substr(md5(r::text), 1, 1) || '%' order by title limit 50
        ) found;
    elsif r % 3 = 1 then
        select count(*) into n from (
            select item.id from item join author on item.author = author.id
            where title like initcap(substr(md5(r::text), 1, 2)) || '%' order by title limit 50
        ) found;
    else
        select count(*) into n from (
            select item.id from item join author on item.author = author.id
            where subject = (r / 3) % 24 order by title limit 50
        ) found;
    end if;
    return n;
end $$;

create function shopping_cart(r bigint) returns bigint language plpgsql as $$
declare
    mine int := 1 + r % 5000;
begin
    update cart set touched = now() where id = mine;
    insert into cart_line values (mine, 1 + (r / 5000) % 100000, 1)
        on conflict (cart, item) do update set quantity = cart_line.quantity + 1;
    if (select count(*) from cart_line where cart = mine) > 20 then
        delete from cart_line where cart = mine and item > 50000;
    end if;
    return (select count(*) from cart_line join item on item = item.id where cart = mine);
end $$;

create function customer_registration(r bigint) returns bigint language plpgsql as $$
begin
    return (select id from customer where name = 'u' || (1 + r % 72000));
end $$;

create function buy_request(r bigint) returns bigint language plpgsql as $$
begin
    perform * from customer join address on address = address.id where name = 'u' || (1 + r % 72000);
    update customer set spent = spent + 1 where id = 1 + r % 72000;
    return (select count(*) from cart_line join item on item = item.id where cart = 1 + r % 5000);
end $$;

create function buy_confirm(r bigint) returns bigint language plpgsql as $$
declare
    mine int := 1 + r % 5000;
    made int;
begin
    insert into orders (customer, made, total, status) values (1 + r % 72000, now(), 110, 'PENDING') returning id into made;
    insert into order_line select made, row_number() over (), item, quantity from cart_line where cart = mine;
    -- In one order, so that two of them never wait for each other.
    update item set stock = case when stock < 10 then stock + 21 else stock - 1 end where id in (
        select id from item where id in (select item from cart_line where cart = mine order by item limit 3) order by id for update
    );
    insert into payment values (made, 'VISA', md5(made::text), 110);
    return made;
end $$;

create function order_inquiry(r bigint) returns bigint language plpgsql as $$
begin
    return (select id from customer where name = 'u' || (1 + r % 72000));
end $$;

create function order_display(r bigint) returns bigint language plpgsql as $$
begin
    return (
        select count(*) from orders join order_line on orders.id = order_line.orders join item on order_line.item = item.id
        where customer = 1 + r % 72000
    );
end $$;

create function admin_request(r bigint) returns bigint language plpgsql as $$
begin
    return (select item.id from item join author on item.author = author.id where item.id = 1 + r % 100000);
end $$;

create function admin_confirm(r bigint) returns bigint language plpgsql as $$
begin
    update item set published = date '2026-01-01' where id = 1 + r % 100000;
    return (
        select count(*) from (
            select item, sum(quantity) as sold from order_line
            where orders > (select max(id) - 10000 from orders) and orders in (
                select id from orders where customer in (
                    select customer from orders join order_line on orders.id = order_line.orders where item = 1 + r % 100000
                )
            ) group by item order by sold desc limit 5
        ) found
    );
end $$;

-- The multiprogramming limit of Schroeder et al. (ICDE 2006): at most mpl interactions run at a time, short ones before long
-- ones; mpl 0 means no limit. It consists of advisory locks: slots from 100 on, and
--   1  the head of the queue, held by the first waiting interaction until it gets a slot,
--   2  shared by all short interactions that wait for lock 1,
--   3  held by the long interaction whose turn it is.
-- A long interaction that reaches the head while a short one waits goes back behind it. The head of the queue waits for the
-- slot if there is one, and polls every millisecond if there are several.

create table gate (mpl int not null);
insert into gate values (0);

create function slot(slots int) returns int language plpgsql as $$
begin
    if slots = 1 then
        perform pg_advisory_lock(100);
        return 100;
    end if;
    for number in 100 .. 99 + slots loop
        if pg_try_advisory_lock(number) then
            return number;
        end if;
    end loop;
    return null;
end $$;

create function enter(slots int, is_short boolean) returns int language plpgsql as $$
declare
    mine int;
begin
    if is_short then
        perform pg_advisory_lock_shared(2);
        perform pg_advisory_lock(1);
        perform pg_advisory_unlock_shared(2);
        loop
            mine := slot(slots);
            exit when mine is not null;
            perform pg_sleep(0.001);
        end loop;
    else
        perform pg_advisory_lock(3);
        perform pg_advisory_lock(1);
        loop
            mine := slot(slots);
            if pg_try_advisory_lock(2) then
                perform pg_advisory_unlock(2);
                exit when mine is not null;
                perform pg_sleep(0.001);
            else
                if mine is not null then
                    perform pg_advisory_unlock(mine);
                end if;
                perform pg_advisory_unlock(1);
                perform pg_advisory_lock(1);
            end if;
        end loop;
        perform pg_advisory_unlock(3);
    end if;
    perform pg_advisory_unlock(1);
    return mine;
end $$;

-- Runs an interaction under the limit.
create function shop(interaction text, is_short boolean, r bigint) returns bigint language plpgsql as $$
declare
    slots int := (select mpl from gate);
    mine int;
    answer bigint;
begin
    if slots > 0 then
        mine := enter(slots, is_short);
    end if;
    begin
        case interaction
            when 'home' then answer := home(r);
            when 'new_products' then answer := new_products(r);
            when 'best_sellers' then answer := best_sellers(r);
            when 'product_detail' then answer := product_detail(r);
            when 'search_request' then answer := search_request(r);
            when 'search_results' then answer := search_results(r);
            when 'shopping_cart' then answer := shopping_cart(r);
            when 'customer_registration' then answer := customer_registration(r);
            when 'buy_request' then answer := buy_request(r);
            when 'buy_confirm' then answer := buy_confirm(r);
            when 'order_inquiry' then answer := order_inquiry(r);
            when 'order_display' then answer := order_display(r);
            when 'admin_request' then answer := admin_request(r);
            when 'admin_confirm' then answer := admin_confirm(r);
        end case;
    exception when others then
        -- A session-level lock is not released by an error.
        if mine is not null then
            perform pg_advisory_unlock(mine);
        end if;
        raise;
    end;
    if mine is not null then
        perform pg_advisory_unlock(mine);
    end if;
    return answer;
end $$;
