import type { Config } from '../config.ts'
import { HttpEmbedder } from './http.ts'
import { LocalEmbedder } from './local.ts'

export interface EmbedOptions {
  signal?: AbortSignal
  /** Somebody waits for it: before all that nobody waits for. */
  urgent?: boolean
}

/** Turns texts into vectors of unit length. */
export interface Embedder {
  /** Stored with every vector: vectors of different models must not be compared. */
  readonly id: string
  readonly dimensions: number
  /** Whether an answer can be expected soon. */
  readonly ready: boolean
  embed(texts: readonly string[], options?: EmbedOptions): Promise<Float32Array[]>
  /** One for a model that was in use before this one, where it can still be asked. */
  earlier(id: string): Embedder | undefined
  close(): void
}

/** These texts are not to its liking, others may be. */
export class TextRefused extends Error {}

/** For an installation that goes by words only. */
export const noEmbedder: Embedder = {
  id: 'none',
  dimensions: 0,
  ready: false,
  embed: async () => [],
  earlier: () => undefined,
  close: () => undefined,
}

export function createEmbedder({
  EMBEDDINGS,
  EMBEDDINGS_URL,
  EMBEDDINGS_MODEL,
  EMBEDDINGS_KEY,
  EMBEDDINGS_DIMENSIONS,
}: Config): Embedder {
  if (EMBEDDINGS === 'off') return noEmbedder
  if (!EMBEDDINGS_URL) return new LocalEmbedder()
  return new HttpEmbedder(EMBEDDINGS_URL, EMBEDDINGS_MODEL as string, EMBEDDINGS_DIMENSIONS as number, EMBEDDINGS_KEY)
}
