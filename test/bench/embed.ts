/** Prints how many texts of about 20 words the built-in model embeds in a second of CPU time. Compiled before it runs. */
import { LocalEmbedder } from '../../src/embeddings/local.ts'

const TEXT =
  'note 12: we decided to move the nightly backup job from cron to a systemd timer because the cron daemon kept missing runs'
const TEXTS = 60
const ROUNDS = 5

const embedder = new LocalEmbedder()
const some = () => embedder.embed(Array.from({ length: TEXTS }, () => TEXT))
// Until the kernel has been compiled with all optimisations.
await some()
const found: number[] = []
for (let round = 0; round < ROUNDS; round++) {
  const before = process.cpuUsage()
  await some()
  const { user, system } = process.cpuUsage(before)
  found.push(TEXTS / ((user + system) / 1e6))
}
console.log(JSON.stringify(found))
embedder.close()
