/** The eight colours of projects. Arrow keys move between them, as in every group of radio buttons. */
import { type ProjectColor, projectColors } from '../../../records/project-colors.ts'
import { words } from './words.ts'

export const ColorPicker = ({ color, onChoose }: { color: ProjectColor; onChoose(color: ProjectColor): void }) => (
  <fieldset className="field">
    <legend>{words.edit.color}</legend>
    <div className="colors">
      {projectColors.map((one) => (
        <label key={one} title={words.edit.colors[one]}>
          <input
            type="radio"
            name="color"
            aria-label={words.edit.colors[one]}
            checked={one === color}
            onChange={() => onChoose(one)}
          />
          <span className={`pdot ${one}`} />
        </label>
      ))}
    </div>
  </fieldset>
)
