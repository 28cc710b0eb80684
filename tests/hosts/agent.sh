# An agent that does as its prompt says: `trial: LINES PAUSE CODE`. It leaves a line in $TRACE when it starts and when it ends,
# besides everything that Kumihimo keeps.
# Asked for its version, it has none.
[ -n "$KUMI_RUN" ] || exit 0
lines=0 pause=0 code=0
while read -r word first second third || [ -n "$word" ]; do
    if [ "$word" = "trial:" ]; then
        lines=$first pause=$second code=$third
    fi
done
echo "start $KUMI_RUN $$ $(date +%s.%N)" >> "$TRACE"
n=0
while [ $n -lt "$lines" ]; do
    n=$((n + 1))
    echo "line $n of $KUMI_RUN"
    if [ $((n % 5)) -eq 0 ]; then
        sleep "$pause"
    fi
done
echo "end $KUMI_RUN $$ $(date +%s.%N)" >> "$TRACE"
exit "$code"
