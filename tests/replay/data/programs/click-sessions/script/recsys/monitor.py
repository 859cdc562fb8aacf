import psutil


def usage():
    me = psutil.Process()
    kids = []
    for c in me.children(recursive=True):
        try:
            if "resource_tracker" not in " ".join(c.cmdline()):
                kids.append(c.memory_full_info())
        except psutil.Error:
            pass
    m = me.memory_full_info()
    mb = 1 << 20
    return {
        "rss": m.rss // mb,
        "uss": m.uss // mb,
        "pss": (m.pss + sum(k.pss for k in kids)) // mb,
        "loader_rss": [k.rss // mb for k in kids],
        "loader_uss": [k.uss // mb for k in kids],
    }
