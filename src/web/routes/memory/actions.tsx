import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { MemoryPatch, MemoryRead } from '../../../features/memory/schema.ts'
import { newIdempotencyKey } from '../../api.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { MemoryForm } from './form.tsx'
import { useRemoveMemory, useSupersedeMemory } from './queries.ts'
import { words } from './words.ts'

interface Props {
  memory: MemoryRead
  onChange(patch: MemoryPatch): void
}

export function MemoryActions({ memory, onChange }: Props) {
  const [open, setOpen] = useState<'supersede' | 'remove'>()
  const close = () => setOpen(undefined)
  const { expiresAt: before } = memory
  const isOver = before !== null && Date.parse(before) <= Date.now()
  const expire = () => {
    onChange({ expiresAt: new Date().toISOString() })
    toast({ title: words.expired, action: { label: words.undo, run: () => onChange({ expiresAt: before }) } })
  }
  return (
    <div className="stack">
      {memory.can?.update === true && (
        <>
          {!memory.supersededById && (
            <button type="button" className="btn" onClick={() => setOpen('supersede')}>
              {words.supersede}
            </button>
          )}
          <button type="button" className="btn quiet" onClick={isOver ? () => onChange({ expiresAt: null }) : expire}>
            {isOver ? words.renew : words.expireNow}
          </button>
        </>
      )}
      {memory.can?.remove === true && (
        <button type="button" className="btn quiet" onClick={() => setOpen('remove')}>
          {words.remove}
        </button>
      )}
      {open === 'supersede' && <Supersede memory={memory} onClose={close} />}
      {open === 'remove' && <Remove memory={memory} onClose={close} />}
    </div>
  )
}

function Supersede({ memory, onClose }: { memory: MemoryRead; onClose(): void }) {
  const navigate = useNavigate()
  const [key] = useState(newIdempotencyKey)
  const supersede = useSupersedeMemory(memory)
  const done = ({ id }: { id: string }) => {
    toast({ title: words.superseded })
    onClose()
    void navigate({ to: '/memories/$id', params: { id } })
  }
  return (
    <Dialog title={words.supersedeTitle} open onClose={onClose}>
      <p className="soft">{words.supersedeText}</p>
      {supersede.error && <ProblemBox error={supersede.error} />}
      <MemoryForm
        memory={memory}
        submit={words.store}
        busy={supersede.isPending}
        onSave={({ title, ...fields }) =>
          supersede.mutate({ ...fields, ...(title && { title }), key }, { onSuccess: done })
        }
      />
    </Dialog>
  )
}

function Remove({ memory, onClose }: { memory: MemoryRead; onClose(): void }) {
  const navigate = useNavigate()
  const remove = useRemoveMemory(memory)
  const act = () =>
    remove.mutate(undefined, {
      onSuccess: () => {
        toast({ title: words.removed })
        void navigate({ to: '/memories' })
      },
    })
  return (
    <Dialog title={words.removeTitle} open onClose={onClose}>
      <p>{words.removeText}</p>
      {remove.error && <ProblemBox error={remove.error} />}
      <button type="button" className="btn danger" disabled={remove.isPending} onClick={act}>
        {words.removeAct}
      </button>
    </Dialog>
  )
}
