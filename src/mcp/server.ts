import type { App } from '../app.ts'
import type { Guard } from '../http/guard.ts'
import type { Tool } from './tool.ts'
export interface Mcp { streamable(r: Request): Promise<Response>; openStream(r: Request): Promise<Response>; message(r: Request): Promise<Response>; readonly streams: number; close(): Promise<void> }
export function createMcp(_app: App, _guard: Guard, _tools: readonly Tool[]): Mcp { const no = async () => new Response('x', {status: 501}); return { streamable: no, openStream: no, message: no, streams: 0, async close() {} } }
