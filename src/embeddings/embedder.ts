export interface EmbedOptions {
  signal?: AbortSignal
  /** A caller is waiting: runs before all texts that no one waits for. */
  urgent?: boolean
}

/** Turns texts into vectors of unit length. */
export interface Embedder {
  /** Model id, stored with every vector: vectors of different models must not be compared. */
  readonly id: string
  readonly dimensions: number
  /** Whether a result can be expected soon. */
  readonly ready: boolean
  /** Computes one text after the other, in this process: giving it several at once gains nothing. */
  readonly sequential?: true
  embed(texts: readonly string[], options?: EmbedOptions): Promise<Float32Array[]>
  /** Returns an embedder for a model that was used before this one, if it is still available. */
  earlier(id: string): Embedder | undefined
  close(): void
}

/** The model refused these texts; it may accept others. */
export class TextRefused extends Error {}

/** For an installation that searches by words only. */
export const noEmbedder: Embedder = {
  id: 'none',
  dimensions: 0,
  ready: false,
  embed: async () => [],
  earlier: () => undefined,
  close: () => undefined,
}
