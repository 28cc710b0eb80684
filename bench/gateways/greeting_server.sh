# A server on stdio that greets after so many seconds and has nothing to offer: `sh greeting_server.sh 0.5`.
# A shell, since nothing else starts as fast: fifty of them shall not be a measure of what a start costs.
while IFS= read -r line; do
    rest=${line#*\"id\":}
    id=${rest%%[!0-9]*}
    case $line in
    *'"method":"initialize"'*)
        sleep "$1"
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"greeting","version":"1"}}}\n' "$id"
        ;;
    *'"method":"tools/list"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}\n' "$id"
        ;;
    *'"id":'*)
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"there is no such method"}}\n' "$id"
        ;;
    esac
done
