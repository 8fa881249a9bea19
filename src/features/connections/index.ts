import type { Feature } from '../../feature.ts'
import { connectionChanged } from '../../mcp/hooks.ts'
import { keepStreams, noteStream, prepareStreams } from './streams.ts'

export const connections: Feature = {
  hooks: [connectionChanged.handle(noteStream)],
  prepare: prepareStreams,
  background: keepStreams,
}
