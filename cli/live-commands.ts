import { type Command, Option } from 'commander'
import { statuses } from '../src/records/task-states.ts'

const until = new Option('--until <state>', 'state to wait for; separate several with commas (default: done)').default(
  'done',
)
// For completion only: each project defines the states of its features.
until.argChoices = [...statuses, 'reviewed', 'approved', 'changes_requested']

const hours = new Option('--hours <hours>', 'hours to look back: 2, 8 or 24 (default: 2)')
hours.argChoices = ['2', '8', '24']

/** Adds `now`, `undo`, `watch` and `wait`. `remote` adds the options of commands that talk to a server. */
export function addLiveCommands(program: Command, remote: (command: Command) => Command): void {
  remote(program.command('now').description('Show who holds which task, why, and when they last did something'))
    .addOption(hours)
    .action(async (options) => (await import('./commands/now.ts')).showNow(options))
  remote(program.command('undo').description('Undo your last change of tasks, or another one of the last hour'))
    .argument('[change]', 'id from: tutti undo --list (default: your newest change of the last 10 minutes)')
    .option('--list', 'list your changes of the last hour')
    .action(async (change, options) => (await import('./commands/undo.ts')).undo(change, options))
  remote(program.command('watch').description('Print events as they happen, until Ctrl-C'))
    .option('-p, --project <project>', "only this project (default: the linked folder's, or all of your team)")
    .option('--all-projects', 'ignore the project that this folder is linked to')
    .addOption(
      new Option('--type <type>', 'only this type, such as task.completed (repeatable)').argParser(
        (value: string, before: string[] = []) => [...before, value],
      ),
    )
    .addHelpText(
      'after',
      `
With --json, each line is one event. To list all types: tutti config events`,
    )
    .action(async (options) => (await import('./commands/watch.ts')).watchEvents(options))
  remote(program.command('wait').description('Wait until a task or feature has reached a state, without polling'))
    .argument('<record...>', 'task or feature; with several, the first to reach the state ends the wait')
    .addOption(until)
    .option('--all', 'wait until all of them have reached the state')
    .option('--timeout <time>', 'give up after this time, such as 30s, 10m or 2h (default: never)')
    .addHelpText(
      'after',
      `
For a feature, --until also accepts a gate such as code_complete, approved,
changes_requested, or reviewed, which means either verdict.
Exit code 0: the state was reached, now or earlier. 6: the time ran out.`,
    )
    .action(async (records, options) => (await import('./commands/wait.ts')).waitForState(records, options))
}
