#!/bin/bash
TOKEN=abc
# login
curl -sS 'http://shop.local:8080/login' \
  -H 'Content-Type: application/json' \
  --data-raw $'{"user": "o\'hara", "q": "{x}"}' -c jar.txt
curl "http://shop.local:8080/items?q=a b" -H "Authorization: Bearer $TOKEN" -b jar.txt -L --retry 3 | jq .
curl -u me:secret -F 'file=@pic.png;type=image/png' -F title=x http://shop.local:8080/upload -H "X-Env: ${KEY}"
curl -G http://shop.local:8080/search --data-urlencode 'q=ä b' -d page=2 --compressed --http2 -k
echo done
