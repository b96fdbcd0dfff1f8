"""The places of a slider's handle: a front end moves a value that is between two steps, but never a place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from afterload.forms.state.sliders import Slider, place_in

__all__ = ["Scale"]


@dataclass(frozen=True)
class Scale:
    """Places of one slider, from 0 on, and the number at each.

    Attributes:
        slider: where it stands, with the range that the places have.
        positions: the numbers, rising; the one where it stood when the scale was made is among them.
        made_for: low end, high end and step of the slider that was followed last, whose range may be another.
    """

    slider: Slider
    positions: tuple[float, ...]
    made_for: tuple[float, float, float]

    @classmethod
    def of(cls, slider: Slider) -> Scale:
        """The places of a slider as it is."""
        return cls(slider, slider.positions, (slider.low, slider.high, slider.step))

    @property
    def last(self) -> int:
        """The highest place."""
        return len(self.positions) - 1

    @property
    def place(self) -> int:
        """The place where it stands."""
        place = self._place_of(self.slider)
        assert place is not None
        return place

    def _place_of(self, slider: Slider) -> int | None:
        return self.last if slider.is_no_limit else place_in(self.positions, slider.value)

    def followed(self, slider: Slider, is_moved: bool) -> Scale | None:
        """Where the scenario stands now, with every place as before; None where that takes other places.

        ``is_moved``: it was this slider that moved. Then the places stay, and only more follow at the high end, so that a hand or
        the keyboard goes on.
        """
        made_for = (slider.low, slider.high, slider.step)
        if self._place_of(slider) is None or not (is_moved or made_for == self.made_for):
            return None
        positions, high = self.positions, self.slider.high
        if slider.high > high and not slider.none_at_high:
            positions = (*positions, *(number for number in slider.positions if number > high))
            high = slider.high
        value = high if slider.is_no_limit else slider.value
        return Scale(replace(self.slider, value=value, high=high), positions, made_for)
