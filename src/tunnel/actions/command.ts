import { jsonObject, object, optional, type Static, text } from '../../schema.ts'
import { isAllowed, placeholderOf } from '../machine-config.ts'
import { ActionFailure, type ActionRun, actionLimits } from './action.ts'
import { commandArguments } from './params.ts'
import { runProgram } from './run-program.ts'

export const RunCommand = object({ command: text(30, { minLength: 1 }), params: optional(jsonObject()) })

/** Runs a command of `tunnel.json` in its folder, without a shell. */
export async function runCommand(
  { command: name, params }: Static<typeof RunCommand>,
  run: ActionRun,
): Promise<unknown> {
  const { machine, user } = run
  const command = Object.hasOwn(machine.commands ?? {}, name) ? machine.commands?.[name] : undefined
  if (!command || !isAllowed(command.who, user, machine.ownerId))
    throw new ActionFailure('refused', 'The machine does not offer you this command.')
  const values = commandArguments(command.params ?? {}, params ?? {})
  const argv = command.argv.flatMap((part) => {
    const param = placeholderOf(part)
    return param === undefined ? [part] : (values.get(param) ?? [])
  })
  if (command.confirm) await run.requireConfirmation(argv.join(' '))
  const env = { ...run.env, TUTTI_ACTION: run.id, TUTTI_USER: user.id, TUTTI_EMAIL: user.email, ...command.env }
  const ms = (command.seconds ?? actionLimits.ms / 1000) * 1000
  const { code, signal } = await runProgram({ argv, folder: command.folder, env, ms }, run)
  const result = { exitCode: code, signal }
  if (code === 0) return result
  throw new ActionFailure('failed', signal ? `Ended by ${signal}.` : `Ended with exit code ${code}.`, result)
}
