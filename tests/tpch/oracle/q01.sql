-- key: the group; filter then group-by
select
    l_returnflag as out_l_returnflag,
    l_linestatus as out_l_linestatus,
    rid as lineitem
from lineitem
where l_shipdate <= date '1998-09-02'
