#include <math.h>

/* Per-band mean/variance normalisation of a [frames][bands] spectrogram, in place. */
void cmvn(float *spec, int frames, int bands)
{
    for (int b = 0; b < bands; b++) {
        float sum = 0.f, sq = 0.f;
        for (int t = 0; t < frames; t++) {
            float v = spec[t * bands + b];
            sum += v;
            sq += v * v;
        }
        float mean = sum / frames;
        float scale = 1.f / sqrtf(sq / frames - mean * mean + 1e-5f);
        for (int t = 0; t < frames; t++)
            spec[t * bands + b] = (spec[t * bands + b] - mean) * scale;
    }
}

/* Cosine distance of every row of a to every row of b; out is [n][m]. */
void cosine_table(const float *a, const float *b, int n, int m, int dim, float *out)
{
    float na[n], nb[m];
    for (int i = 0; i < n; i++) {
        float s = 1e-8f;
        for (int k = 0; k < dim; k++)
            s += a[i * dim + k] * a[i * dim + k];
        na[i] = s;
    }
    for (int j = 0; j < m; j++) {
        float s = 1e-8f;
        for (int k = 0; k < dim; k++)
            s += b[j * dim + k] * b[j * dim + k];
        nb[j] = s;
    }
    for (int i = 0; i < n; i++) {
        float row[m];
        for (int j = 0; j < m; j++) {
            float dot = 0.f;
            for (int k = 0; k < dim; k++)
                dot += a[i * dim + k] * b[j * dim + k];
            row[j] = dot;
        }
        for (int j = 0; j < m; j++)
            out[i * m + j] = 1.f - row[j] / sqrtf(na[i] * nb[j]);
    }
}

/* Dynamic time warping cost over a distance table. */
float dtw(const float *d, int n, int m)
{
    float prev[m + 1], cur[m + 1];
    prev[0] = 0.f;
    for (int j = 1; j <= m; j++)
        prev[j] = 1e30f;
    for (int i = 0; i < n; i++) {
        cur[0] = 1e30f;
        for (int j = 1; j <= m; j++)
            cur[j] = d[i * m + j - 1] + fminf(prev[j - 1], fminf(prev[j], cur[j - 1]));
        for (int j = 0; j <= m; j++)
            prev[j] = cur[j];
    }
    return prev[m];
}
