import { hook } from '../../hooks.ts'

/** A stream of an agent: the name of its connection counts only together with its credential. */
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
