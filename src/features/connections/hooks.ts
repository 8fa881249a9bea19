import { hook } from '../../hooks.ts'

/** An open stream of an agent. The name of the connection is unique only for its credential. */
export interface Stream {
  credentialId: string
  connection: string
}

/** Streams were opened, or were the last ones of their connections and closed. Handled by tasks and sessions. */
export const streamsChanged = hook<{ streams: readonly Stream[]; isOpen: boolean }>('connections.streamsChanged')

/** Returns the streams as two arrays for `unnest($1::uuid[], $2::text[])`. */
export const streamArrays = (streams: readonly Stream[]): [credentials: string, connections: string] => [
  `{${streams.map(({ credentialId }) => credentialId).join(',')}}`,
  `{${streams.map(({ connection }) => JSON.stringify(connection)).join(',')}}`,
]
