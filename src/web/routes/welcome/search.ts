export const stepNames = ['organization', 'invite', 'token', 'project'] as const
export type StepName = (typeof stepNames)[number]

/** The step that the reader chose; default: the first one that is not done. */
export const welcomeSearch = ({ step }: Record<string, unknown>): { step?: StepName } => {
  const known = stepNames.find((name) => name === step)
  return known ? { step: known } : {}
}
