import type { Feature } from '../../feature.ts'
import { connectionChanged } from '../../mcp/hooks.ts'
import { maintainStreams, prepareStreams, recordStream } from './streams.ts'

export const connections: Feature = {
  hooks: [connectionChanged.handle(recordStream)],
  prepare: prepareStreams,
  background: maintainStreams,
}
