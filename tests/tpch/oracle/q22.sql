-- key: the country code; customer_2 is every customer in the average, the same for each output row;
-- the inner side of NOT EXISTS contributes nothing
with candidate as (
    select c_custkey, c_acctbal, c_phone[1:2] as cntrycode, rid
    from customer
    where cntrycode in ('13', '17', '18', '23', '29', '30', '31')
),
positive as (
    select c_acctbal, rid from candidate where c_acctbal > 0
),
idle as (
    select cntrycode, rid
    from candidate
    where c_acctbal * (select count(*) from positive) > (select sum(c_acctbal) from positive)
      and not exists (from orders where o_custkey = c_custkey)
)
select cntrycode as out_cntrycode, rid as customer, null::bigint as orders
from idle
union all by name
select cntrycode as out_cntrycode, positive.rid as customer_2
from (select distinct cntrycode from idle) cross join positive
