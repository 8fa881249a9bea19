import { type Command, Option } from 'commander'
import { searchNames } from '../src/records/names.ts'

const kindOption = new Option('--kind <kind>', 'only this kind (repeatable)').argParser(
  (value: string, before: string[] = []) => [...before, value],
)
// For completion only: `choices()` would refuse other values with commander's own message.
kindOption.argChoices = [...searchNames]

/** Adds `search` and `ask`. `remote` adds the options of commands that talk to a server. */
export function addSearchCommands(program: Command, remote: (command: Command) => Command): void {
  remote(program.command('search').description('Search everything you have access to'))
    .argument('<words...>', 'words to search for; each result contains all of them')
    .addOption(kindOption)
    .option('-p, --project <project>', "only this project (default: the linked folder's)")
    .option('--all-projects', 'ignore the project that this folder is linked to')
    .option('-n, --limit <number>', 'maximum number of results of each kind')
    .option('--offline', 'search the synced copy on this computer, not the server')
    .addHelpText(
      'after',
      `
Filters among the words: label:offline, project:LAN, and for tasks status:todo,
is:open (also done, blocked, ready, mine) and @ada or assignee:ada. A minus
excludes: "lock -label:docs". A comma means one of these: label:ui,api.`,
    )
    .action(async (words, options) => (await import('./commands/search.ts')).runSearch(words, options))
  remote(program.command('ask').description('Ask the assistant; it answers from your records and names its sources'))
    .argument('<question...>', 'your question')
    .option('-p, --project <project>', "only this project (default: the linked folder's)")
    .option('--all-projects', 'ignore the project that this folder is linked to')
    .option('--repo <repository>', 'also answer from the files of this repository: id or owner/name')
    .option('--chat <chat>', 'continue the chat with this id; last: the latest chat')
    .addHelpText(
      'after',
      `
The answer is printed while the model writes it; Ctrl-C stops it. If the server
has no chat model, only the sources are printed. Accept proposals in a browser.`,
    )
    .action(async (words, options) => (await import('./commands/ask.ts')).askAssistant(words, options))
}
