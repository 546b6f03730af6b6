# A tree grown from keys at random, with small blocks so that it gets tall.
coppice grow random --items 44 --max-items 4 --max-ptrs 8 --policy split --dot
