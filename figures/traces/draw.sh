# draw.sh NAME POLICY [POLICY]: the leaves before and after the last operation of NAME.trace, as DOT. With
# two policies what the second one leaves stands below. The rows are named, and narrowed to fit a page;
# all else is as `coppice replay --trace NAME.trace --dot --policy POLICY` draws it.
name=$1
shift
for policy; do
    coppice replay --trace "$COPPICE/figures/traces/$name.trace" --node-size 4K --dot --policy "$policy" \
        > "drawn $policy" || exit 1
done
case $(grep -h -o '^  leaf[01]_[0-9]' drawn\ * | sed 's/.*_//' | sort -n | tail -n 1) in # leaves side by side
1) scale=0.85 ;;
2) scale=0.64 ;;
*) scale=0.54 ;;
esac
y=0
for policy; do
    awk -v policy="$policy" -v shift="$y" -v scale="$scale" '
        shift && !/pos=/ { next }
        !/pos=/ { if ($0 != "}") print; next }
        {
            match($0, /pos="[^!]*/)
            split(substr($0, RSTART + 5, RLENGTH - 5), at, ",")
            if (shift && at[2] > 0.6) next
            sub(/pos="[^!]*/, sprintf("pos=\"%.4f,%.3f", at[1] > 0 ? at[1] * scale : at[1], at[2] + shift))
            if (match($0, /[^a-z]width=[0-9.]*/))
                sub(/[^a-z]width=[0-9.]*/, sprintf(" width=%.4f", scale * substr($0, RSTART + 7, RLENGTH - 7)))
            if (shift) { sub(/^  leaf1/, "  leaf2"); sub(/^  item1/, "  item2"); sub(/^  "text/, "  \"below") }
            words = policy
            gsub(/,/, ",\\n", words); sub(/left-discount/, "left-\\ndiscount", words); sub(/shortcut-left/, "short-\\ncut-left", words)
            sub(/label="after"/, "label=\"" words "\"")
            print
        }' "drawn $policy"
    y=-1.25
done
echo "}"
