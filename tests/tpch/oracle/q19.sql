-- no key: one output row
select lineitem.rid as lineitem, part.rid as part
from lineitem join part on p_partkey = l_partkey
where l_shipmode in ('AIR', 'AIR REG')
  and l_shipinstruct = 'DELIVER IN PERSON'
  and case p_brand
      when 'Brand#12' then l_quantity between 1 and 11 and p_size between 1 and 5
          and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
      when 'Brand#23' then l_quantity between 10 and 20 and p_size between 1 and 10
          and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
      when 'Brand#34' then l_quantity between 20 and 30 and p_size between 1 and 15
          and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
      else false
  end
