import type { Actor } from '../auth/actor.ts'

/** What a peer may do with its WebSocket. */
export interface Socket {
  /** Returns -1 if the bytes wait, and 0 if they were dropped. */
  send(message: string | Uint8Array): number
  close(code?: number, reason?: string): void
  getBufferedAmount(): number
  /** Reads nothing more until `resume`. */
  pause(): void
  resume(): void
}

/** The server's end of one WebSocket. */
export interface Peer {
  receive(message: string | Uint8Array): void
  drained(): void
  left(code: number, reason: string): void
}

/** Creates the server's end once the socket is open. */
export type Accept = (socket: Socket) => Peer

/** What Bun keeps with a socket: of a listener of the hub, or of what another feature accepts. */
export type SocketData = { peer?: Peer } & ({ actor: Actor | undefined } | { readonly accept: Accept })
