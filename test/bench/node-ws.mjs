// A peer of the hub: `ws` on Node, which sends what is posted to /create to every socket. With --expose-gc, /collect
// collects all garbage: Node does not by itself while nothing happens.
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'

const server = createServer((request, response) => {
  if (request.url === '/collect') {
    globalThis.gc()
    return response.end('{}')
  }
  let body = ''
  request.on('data', (chunk) => {
    body += chunk
  })
  request.on('end', () => {
    for (const client of sockets.clients) client.send(body)
    response.end('{}')
  })
})
const sockets = new WebSocketServer({ server })
server.listen(0, '127.0.0.1', () => console.log(` is at http://127.0.0.1:${server.address().port}`))
