// SPDX-License-Identifier: Apache-2.0
//! strftime for templates that write the date: the directives of Python that need no locale but English.

const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
];

pub struct Moment {
    year: i64,
    month: i64, // 1 to 12
    day: i64,
    weekday: i64, // 0 is Sunday
    day_of_year: i64,
    second: i64, // of the day
}

impl Moment {
    /// Seconds since 1970 in local time. The proleptic Gregorian calendar, counted in years that begin in March.
    pub fn at(seconds: i64) -> Moment {
        let days = seconds.div_euclid(86_400);
        let from_march_0000 = days + 719_468;
        let era = from_march_0000.div_euclid(146_097);
        let day_of_era = from_march_0000.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        Moment {
            year,
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            weekday: (days + 4).rem_euclid(7),
            day_of_year: if month <= 2 {
                day_of_year - 306 + 1
            } else {
                day_of_year + 59 + i64::from(is_leap) + 1
            },
            second: seconds.rem_euclid(86_400),
        }
    }

    /// A directive that is not known stands as it is written.
    pub fn format(&self, pattern: &str) -> String {
        let mut out = String::new();
        let mut rest = pattern.chars();
        while let Some(c) = rest.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut directive = rest.next();
            let is_bare = directive == Some('-'); // without leading zeros
            if is_bare {
                directive = rest.next();
            }
            match directive.and_then(|letter| self.directive(letter)) {
                Some(field) if is_bare => {
                    let bare = field.trim_start_matches('0');
                    out.push_str(if bare.is_empty() { "0" } else { bare });
                }
                Some(field) => out.push_str(&field),
                None => {
                    out.push('%');
                    out.extend(is_bare.then_some('-'));
                    out.extend(directive);
                }
            }
        }
        out
    }

    fn directive(&self, letter: char) -> Option<String> {
        let (hour, minute, second) =
            (self.second / 3_600, self.second / 60 % 60, self.second % 60);
        Some(match letter {
            'Y' => self.year.to_string(),
            'y' => format!("{:02}", self.year.rem_euclid(100)),
            'm' => format!("{:02}", self.month),
            'd' => format!("{:02}", self.day),
            'e' => format!("{:2}", self.day),
            'j' => format!("{:03}", self.day_of_year),
            'H' => format!("{hour:02}"),
            'I' => format!("{:02}", (hour + 11) % 12 + 1),
            'M' => format!("{minute:02}"),
            'S' => format!("{second:02}"),
            'f' => "000000".into(),
            'p' => if hour < 12 { "AM" } else { "PM" }.into(),
            'A' => DAYS[self.weekday as usize].into(),
            'a' => DAYS[self.weekday as usize][..3].into(),
            'B' => MONTHS[self.month as usize - 1].into(),
            'b' | 'h' => MONTHS[self.month as usize - 1][..3].into(),
            'w' => self.weekday.to_string(),
            'F' => self.format("%Y-%m-%d"),
            'T' => self.format("%H:%M:%S"),
            'R' => self.format("%H:%M"),
            'D' | 'x' => self.format("%m/%d/%y"),
            'X' => self.format("%H:%M:%S"),
            'c' => self.format("%a %b %e %H:%M:%S %Y"),
            'n' => "\n".into(),
            't' => "\t".into(),
            '%' => "%".into(),
            _ => return None,
        })
    }
}
