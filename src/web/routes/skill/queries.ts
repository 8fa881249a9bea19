import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { SkillCreate, SkillDetail, SkillPatch } from '../../../features/skills/schema.ts'
import { ok, skills, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const skillQuery = (id: string) =>
  queryOptions({ queryKey: ['skill', id], queryFn: () => ok(skills.skills({ id }).get()) })

const refresh = (cache: ReturnType<typeof useQueryClient>) =>
  Promise.all([cache.invalidateQueries({ queryKey: ['skill'] }), cache.invalidateQueries({ queryKey: ['skills'] })])

export function useChangeSkill({ id, version }: SkillDetail) {
  const cache = useQueryClient()
  return useMutation({
    scope: { id },
    mutationFn: (patch: SkillPatch) => ok(skills.skills({ id }).put(patch, writeOptions(version))),
    onSettled: () => refresh(cache),
  })
}

export function useRemoveSkill({ id, version }: SkillDetail) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: () => ok(skills.skills({ id }).delete({}, writeOptions(version))),
    onSuccess: () => cache.invalidateQueries({ queryKey: ['skills'] }),
  })
}

/** Brings back a skill that was deleted. */
export const restoreSkill = (id: string) => ok(skills.skills({ id }).restore.post({}, writeOptions()))

export const useCreateSkill = () =>
  useWrite(
    ({ key, ...skill }: SkillCreate & { key: string }) => ok(skills.skills.post(skill, writeOptions(undefined, key))),
    ['skill'],
    ['skills'],
  )
