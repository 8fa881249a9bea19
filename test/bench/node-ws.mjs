// A peer of the hub: `ws` on Node, which sends what is posted to /create to every socket.
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'

const server = createServer((request, response) => {
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
