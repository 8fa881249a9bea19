import * as work from '../jobs/work.ts'
import { node } from './install.ts'
import { holds, type Program } from './peer.ts'

/** A graph of entities with observations, searched by exact words. */

const entity = (name: string, entityType: string, ...observations: string[]) => ({ name, entityType, observations })

export const serverMemory: Program = {
  name: 'server-memory',
  command: (folder) => ({
    run: node('@modelcontextprotocol/server-memory/dist/index.js'),
    env: { MEMORY_FILE_PATH: `${folder}/memory.jsonl` },
  }),
  jobs: {
    'remember five facts and find one by paraphrase': async (peer) => {
      await peer.call('create_entities', {
        entities: work.facts.map(({ title, description }) => entity(title, 'fact', description)),
      })
      // It finds no paraphrase, so an agent reads everything.
      holds(await peer.call('read_graph'), work.paraphrase.found)
    },
    'resume after total loss of context': async (peer) => {
      const { nextStep, files, branch, openQuestions } = work.checkpoint
      const { title, description } = work.queue[0] as work.Written
      const observations = [title, description, nextStep, ...files, branch, ...openQuestions]
      await peer.call('create_entities', { entities: [entity('checkpoint', 'state', ...observations)] })
      holds(await peer.call('read_graph'), nextStep, branch)
    },
    'record a decision with alternatives and look it up': async (peer) => {
      const { title, decision, rationale, alternatives } = work.decision
      await peer.call('create_entities', {
        entities: [entity(title, 'decision', decision, rationale, ...alternatives.map((each) => `Not: ${each}`))],
      })
      holds(await peer.call('search_nodes', { query: 'flock' }), decision, rationale)
    },
  },
}
