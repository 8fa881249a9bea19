import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type MachineConfig, machineProblems } from '../../src/tunnel/machine-config.ts'
import { configFolder } from '../terminal/environment.ts'
import { Refusal } from '../terminal/refusal.ts'

/** The file with the services of this machine and the credential of its tunnel. */
export const machinePath = (): string => join(configFolder(), 'tunnel.json')

export function readMachine(): MachineConfig | undefined {
  const path = machinePath()
  if (!existsSync(path)) return undefined
  if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
    throw new Refusal(
      `${path} decides who may use this machine, and others can read or change it. Run: chmod 600 ${path}`,
    )
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new Refusal(`${path} is not JSON (${(error as Error).message}). Correct it, or remove it to start over.`)
  }
  return validateMachine(value)
}

/** Writes the file completely or not at all. Others can never read it, not even for a moment. */
export function writeMachine(machine: MachineConfig): void {
  validateMachine(machine)
  const path = machinePath()
  mkdirSync(configFolder(), { recursive: true, mode: 0o700 })
  const fresh = `${path}.${process.pid}`
  writeFileSync(fresh, `${JSON.stringify(machine, null, 2)}\n`, { mode: 0o600, flush: true })
  renameSync(fresh, path)
}

function validateMachine(value: unknown): MachineConfig {
  const [problem] = machineProblems(value)
  if (problem !== undefined) throw new Refusal(`${machinePath()} has a problem. ${problem}`)
  return value as MachineConfig
}
