-- key: the supplier's name; lineitem is l1, lineitem_2 is l2 (every line of another supplier in the
-- order), lineitem_3 is l3, the inner side of NOT EXISTS, which contributes nothing
with waiting as (
    select s_name, supplier.rid as supplier, l1.rid as lineitem, orders.rid as orders,
           nation.rid as nation, l2.rid as lineitem_2
    from nation
    join supplier on s_nationkey = n_nationkey
    join lineitem as l1 on l1.l_suppkey = s_suppkey
    join orders on o_orderkey = l1.l_orderkey
    join lineitem as l2 on l2.l_orderkey = o_orderkey and l2.l_suppkey <> s_suppkey
    where n_name = 'SAUDI ARABIA' and o_orderstatus = 'F'
      and l1.l_receiptdate > l1.l_commitdate
      and (
          select count(distinct l_suppkey)
          from lineitem
          where l_orderkey = o_orderkey and l_receiptdate > l_commitdate
      ) = 1
),
top as (
    select s_name
    from waiting
    group by s_name
    order by count(distinct lineitem) desc, s_name
    limit 100
)
select s_name as out_s_name, supplier, lineitem, orders, nation, lineitem_2,
       null::bigint as lineitem_3
from waiting semi join top using (s_name)
