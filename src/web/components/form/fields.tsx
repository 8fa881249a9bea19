/** Fields with their labels. `onText` gets the new text of a controlled field. */
import { type ComponentProps, type ReactNode, useId } from 'react'

interface Labelled {
  label: string
  hint?: string
  /** Takes the room that is left in its row. */
  grow?: boolean
  onText?(text: string): void
}

const Label = ({ label, grow, children }: Labelled & { children: ReactNode }) => (
  // biome-ignore lint/a11y/noLabelWithoutControl: the children are the control
  <label className={grow ? 'field grow' : 'field'}>
    <span>{label}</span>
    {children}
  </label>
)

type FieldProps = Labelled & ComponentProps<'input'>

export function Field({ label, hint, grow, onText, ...input }: FieldProps) {
  const id = useId()
  return (
    <Label label={label} grow={grow}>
      <input
        className="input"
        aria-describedby={hint ? id : undefined}
        onChange={onText && (({ currentTarget: { value } }) => onText(value))}
        {...input}
      />
      {hint && (
        <small id={id} className="soft t12">
          {hint}
        </small>
      )}
    </Label>
  )
}

type TextAreaProps = Omit<Labelled, 'hint'> & ComponentProps<'textarea'>

export const TextArea = ({ label, grow, onText, ...field }: TextAreaProps) => (
  <Label label={label} grow={grow}>
    <textarea
      className="input area"
      onChange={onText && (({ currentTarget: { value } }) => onText(value))}
      {...field}
    />
  </Label>
)

/** A choice of a select: a value with its label, or a record by its id. */
type SelectOption = { value: string | number; label: string } | { id: string; name: string }

const asChoice = (option: SelectOption) => ('value' in option ? option : { value: option.id, label: option.name })

const Options = ({ of }: { of: readonly SelectOption[] }) =>
  of.map(asChoice).map(({ value, label }) => (
    <option key={value} value={value}>
      {label}
    </option>
  ))

/** Returns the choices that an object names: its keys are the values. */
export const optionsOf = (names: Readonly<Record<string, string>>): { value: string; label: string }[] =>
  Object.entries(names).map(([value, label]) => ({ value, label }))

interface SelectProps extends Omit<Labelled, 'hint'>, ComponentProps<'select'> {
  options: readonly SelectOption[]
  /** What choosing nothing is called, where that is possible. */
  none?: string
}

export const Select = ({ label, grow, onText, options, none, ...select }: SelectProps) => (
  <Label label={label} grow={grow}>
    <select className="input" onChange={onText && (({ currentTarget: { value } }) => onText(value))} {...select}>
      {none !== undefined && <option value="">{none}</option>}
      <Options of={options} />
    </select>
  </Label>
)
