import type { Config } from '../config.ts'
import { type Embedder, noEmbedder } from './embedder.ts'
import { HttpEmbedder } from './http.ts'
import { LocalEmbedder } from './local.ts'

/** Creates the embedder that the operator has configured. */
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
