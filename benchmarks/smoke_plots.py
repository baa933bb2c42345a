def draw(d, p): pass
