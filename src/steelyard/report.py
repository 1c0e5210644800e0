"""draft"""
from steelyard import comparison
import dataclasses, json
def print_out(found, *, form, reference=None):
    for c in found.comparisons:
        r=c.ratio
        print(f"{c.cell:28} {c.metric:15} {c.system:10} {c.baseline_value.value if c.baseline_value else 0:12.2f} {c.value.value if c.value else 0:12.2f} {r and (round(r.value,3),r.low and round(r.low,3),r.high and round(r.high,3), r.level)} {c.verdict} p={c.p_adjusted} n={c.blocks} boots={c.boots} need={c.blocks_needed} {c.flags}")
    for i in found.indices: print(i)
    for i in found.gains: print(i)
    print(found.troubles, found.warnings)
    for s in found.systems: print(s.name,s.clock_apart,s.boots)
