# Multi-Freq-LDPy functions for SMP solution and L-GRR protocol
# NumPy library
import numpy as np

from multi_freq_ldpy.long_mdim_freq_est.L_SMP_Solution import SMP_L_GRR_Aggregator, SMP_L_GRR_Client

# Parameters for simulation
eps_perm = 2  # longitudinal privacy
eps_1 = 0.5 * eps_perm  # first report privacy
n = int(1e6)  # number of users
k = 4  # attribute's domain size
d = 3  # number of attributes
lst_k = [k for _ in range(d)]  # attributes' domain size

# Simulation dataset following Uniform distribution
dataset = np.random.randint(k, size=(n, d))

# Simulation of data collection
reports = [SMP_L_GRR_Client(user_tuple, lst_k, d, eps_perm, eps_1) for user_tuple in dataset]

# Simulation of server-side aggregation
est_freq = SMP_L_GRR_Aggregator(reports, lst_k, d, eps_perm, eps_1)
