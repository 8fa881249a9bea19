import type { Actor } from '../auth/actor.ts'

export interface Socket {
  /** Returns -1 if the bytes were buffered, and 0 if they were dropped. */
  send(message: string | Uint8Array): number
  close(code?: number, reason?: string): void
  getBufferedAmount(): number
  /** Stops reading until `resume`. */
  pause(): void
  resume(): void
}

/** The server's end of one WebSocket. */
export interface Peer {
  receive(message: string | Uint8Array): void
  onDrain(): void
  onClose(code: number, reason: string): void
}

/** Creates the server's end once the socket is open. */
export type AcceptSocket = (socket: Socket) => Peer

/** Data that Bun keeps with a socket, of the hub or of a feature that accepts sockets. */
export type SocketData = { peer?: Peer } & ({ actor: Actor | undefined } | { readonly accept: AcceptSocket })
