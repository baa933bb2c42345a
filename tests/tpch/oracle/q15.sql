-- key: the supplier; lineitem is revenue as joined, lineitem_2 revenue as read for the maximum
with quarter as (
    select l_suppkey, l_extendedprice * (1 - l_discount) as revenue, rid
    from lineitem
    where l_shipdate between date '1996-01-01' and date '1996-03-31'
),
total as (
    select l_suppkey, sum(revenue) as revenue from quarter group by l_suppkey
),
best as (
    select s_suppkey, supplier.rid as supplier
    from supplier join total on l_suppkey = s_suppkey
    where revenue = (select max(revenue) from total)
)
select s_suppkey as out_s_suppkey, supplier, rid as lineitem
from best join quarter on l_suppkey = s_suppkey
union all by name
select s_suppkey as out_s_suppkey, rid as lineitem_2
from best cross join quarter
