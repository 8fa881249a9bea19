import { type RestorableName, restorableNames } from '../../../records/names.ts'

export const trashSearch = ({ kind }: Record<string, unknown>): { kind?: RestorableName } => {
  const known = restorableNames.find((name) => name === kind)
  return known ? { kind: known } : {}
}
