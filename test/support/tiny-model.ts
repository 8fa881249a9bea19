/**
 * Writes a language model that is small enough to be made in a test: one-hot embeddings, silent attention, and an
 * output matrix that says which word follows which. Whatever it is asked, it says one sentence with `[1]`.
 */
export const SENTENCE = 'The folder is locked by one process [1].'

const says = '▁The ▁folder ▁is ▁locked ▁by ▁one ▁process ▁[1] .'.split(' ')
const bytes = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`)
const tokens = ['<unk>', '<s>', '</s>', ...bytes, '<|answer|>', ...says]
/** The token after which the sentence begins. */
const ANSWER = tokens.indexOf('<|answer|>')
const END = 2
/** Kinds of tokens: unknown, control, byte, normal. */
const kindOf = (i: number): number => (i === 0 ? 2 : i <= 2 || i === ANSWER ? 3 : i < ANSWER ? 6 : 1)

const width = Math.ceil(tokens.length / 32) * 32
const INNER = 32

class Writer {
  readonly parts: Uint8Array<ArrayBuffer>[] = []
  size = 0

  bytes(part: Uint8Array<ArrayBuffer>): void {
    this.parts.push(part)
    this.size += part.length
  }
  #number(size: 4 | 8, set: (view: DataView) => void): void {
    const view = new DataView(new ArrayBuffer(size))
    set(view)
    this.bytes(new Uint8Array(view.buffer))
  }
  u32 = (n: number): void => this.#number(4, (view) => view.setUint32(0, n, true))
  i32 = (n: number): void => this.#number(4, (view) => view.setInt32(0, n, true))
  f32 = (n: number): void => this.#number(4, (view) => view.setFloat32(0, n, true))
  u64 = (n: number): void => this.#number(8, (view) => view.setBigUint64(0, BigInt(n), true))
  text(text: string): void {
    const encoded = new TextEncoder().encode(text)
    this.u64(encoded.length)
    this.bytes(encoded)
  }
  pad = (size = this.size): void => this.bytes(new Uint8Array((32 - (size % 32)) % 32))
}

/** The values of GGUF that are needed here, by the number of their type. */
type Value =
  | { u32: number }
  | { f32: number }
  | { text: string }
  | { texts: string[] }
  | { f32s: number[] }
  | { i32s: number[] }

function writeValue(to: Writer, value: Value): void {
  if ('u32' in value) {
    to.u32(4)
    to.u32(value.u32)
  } else if ('f32' in value) {
    to.u32(6)
    to.f32(value.f32)
  } else if ('text' in value) {
    to.u32(8)
    to.text(value.text)
  } else {
    const [type, items, write] =
      'texts' in value
        ? ([8, value.texts, (item: string | number) => to.text(String(item))] as const)
        : 'f32s' in value
          ? ([6, value.f32s, (item: string | number) => to.f32(Number(item))] as const)
          : ([5, value.i32s, (item: string | number) => to.i32(Number(item))] as const)
    to.u32(9)
    to.u32(type)
    to.u64(items.length)
    for (const item of items) write(item)
  }
}

const template =
  '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<|answer|>{% endif %}'
const facts: Record<string, Value> = {
  'general.architecture': { text: 'llama' },
  'general.name': { text: 'tutti-test' },
  'llama.context_length': { u32: 16_384 },
  'llama.embedding_length': { u32: width },
  'llama.block_count': { u32: 1 },
  'llama.feed_forward_length': { u32: INNER },
  'llama.attention.head_count': { u32: width / 32 },
  'llama.attention.head_count_kv': { u32: width / 32 },
  'llama.attention.layer_norm_rms_epsilon': { f32: 1e-5 },
  'llama.rope.dimension_count': { u32: 32 },
  'tokenizer.ggml.model': { text: 'llama' },
  'tokenizer.ggml.tokens': { texts: tokens },
  'tokenizer.ggml.scores': { f32s: tokens.map(() => 0) },
  'tokenizer.ggml.token_type': { i32s: tokens.map((_, i) => kindOf(i)) },
  'tokenizer.ggml.bos_token_id': { u32: 1 },
  'tokenizer.ggml.eos_token_id': { u32: END },
  'tokenizer.ggml.unknown_token_id': { u32: 0 },
  'tokenizer.chat_template': { text: template },
}

function tensorsOf(): [name: string, shape: number[], values: Float32Array<ArrayBuffer>][] {
  const embeddings = new Float32Array(width * tokens.length)
  for (const [i] of tokens.entries()) embeddings[i * width + i] = 1
  const output = new Float32Array(width * tokens.length)
  const chain = [ANSWER, ...says.map((_, i) => ANSWER + 1 + i), END]
  for (const [i, to] of chain.slice(1).entries()) output[to * width + (chain[i] as number)] = 2
  const ones = () => new Float32Array(width).fill(1)
  const zeros = (rows: number, columns: number): [number[], Float32Array<ArrayBuffer>] => [
    [rows, columns],
    new Float32Array(rows * columns),
  ]
  return [
    ['token_embd.weight', [width, tokens.length], embeddings],
    ['output_norm.weight', [width], ones()],
    ['output.weight', [width, tokens.length], output],
    ['blk.0.attn_norm.weight', [width], ones()],
    ['blk.0.attn_q.weight', ...zeros(width, width)],
    ['blk.0.attn_k.weight', ...zeros(width, width)],
    ['blk.0.attn_v.weight', ...zeros(width, width)],
    ['blk.0.attn_output.weight', ...zeros(width, width)],
    ['blk.0.ffn_norm.weight', [width], ones()],
    ['blk.0.ffn_gate.weight', ...zeros(width, INNER)],
    ['blk.0.ffn_up.weight', ...zeros(width, INNER)],
    ['blk.0.ffn_down.weight', ...zeros(INNER, width)],
  ]
}

/** Returns the model as a GGUF file of 2 MB. */
export function tinyModel(): Blob {
  const to = new Writer()
  const tensors = tensorsOf()
  to.bytes(new TextEncoder().encode('GGUF'))
  to.u32(3)
  to.u64(tensors.length)
  to.u64(Object.keys(facts).length)
  for (const [name, value] of Object.entries(facts)) {
    to.text(name)
    writeValue(to, value)
  }
  let offset = 0
  for (const [name, shape, values] of tensors) {
    to.text(name)
    to.u32(shape.length)
    for (const n of shape) to.u64(n)
    to.u32(0)
    to.u64(offset)
    offset += Math.ceil(values.byteLength / 32) * 32
  }
  to.pad()
  for (const [, , values] of tensors) {
    to.bytes(new Uint8Array(values.buffer))
    to.pad(values.byteLength)
  }
  return new Blob(to.parts)
}
